import GStreamer
import MediaGraphCore

/// Converts frames with given caps to the form that an observer prefers, and edited frames back.
///
/// Used on the streaming thread. A new plan is made when the caps or the preference change.
final class ObserverPlan {
    let preference: FramePreference
    let caps: Caps
    let info: VideoInfo
    /// Keeps a copy of the incoming frame, for `on-error=pass` after the first failure.
    private(set) lazy var backup = FrameBackup(info)
    /// The observer's format, neither turned nor mirrored.
    private let converted: (info: VideoInfo, caps: Caps)
    private let toObserver: VideoConverter?
    private let toStream: VideoConverter?
    private var turn: (toObserver: BufferFilter, toStream: BufferFilter, direction: VideoOrientation)?
    /// The format of the last turned frame.
    private var turned: (info: VideoInfo, caps: Caps)?

    init(_ caps: Caps, _ preference: FramePreference, edits: Bool) throws(MediaGraphError) {
        guard let info = VideoInfo(caps) else {
            throw .unsupported(.init("the stream", expected: "raw video", actual: "\(caps)"))
        }
        let losesAlpha = info.hasAlpha && !preference.format.hasAlpha
        guard !edits || !losesAlpha || info.alphaDepth == 8 else {
            throw .unsupported(
                .init(
                    "the observer's preferred format \(preference.format.gstreamerName)",
                    actual:
                        "has no alpha, and the \(info.alphaDepth)-bit alpha of \(info.formatName) can't be kept while editing; prefer a format with alpha"
                ))
        }
        self.caps = caps
        self.info = info
        self.preference = preference
        if info.format == preference.format {
            converted = (info, caps)
            (toObserver, toStream) = (nil, nil)
            return
        }
        guard let output = info.converted(to: preference.format, size: (info.width, info.height), squarePixels: false),
            let toObserver = VideoConverter(from: info, to: output)
        else {
            throw .unsupported(
                .init("conversion to \(preference.format.gstreamerName)", actual: "isn't possible from \(caps)"))
        }
        converted = (output, output.caps)
        self.toObserver = toObserver
        toStream = edits ? VideoConverter(from: output, to: info) : nil
        guard !edits || toStream != nil else {
            throw .unsupported(
                .init("conversion from \(preference.format.gstreamerName)", actual: "isn't possible to \(caps)"))
        }
    }

    /// Whether the stream's alpha must stay as it is, because the observer's format has none.
    private var keepsAlpha: Bool { info.hasAlpha && !converted.info.hasAlpha }

    /// Returns how a frame with this orientation is turned upright and mirrored for the observer.
    func direction(_ orientation: VideoOrientation) -> VideoOrientation {
        orientation.change(rotates: preference.appliesRotation, mirrors: preference.appliesMirror)
    }

    /// Returns whether the observer sees the stream's own buffer, without conversion.
    func isDirect(_ direction: VideoOrientation) -> Bool { toObserver == nil && direction == .upright }

    /// Returns a copy of the frame in the form that the observer prefers. `copied` describes the copy.
    func copy(
        _ buffer: BufferAccess, _ direction: VideoOrientation
    ) throws(MediaGraphError) -> Buffer {
        guard let toObserver else { return try flip(buffer.retained, direction) }
        guard let result = toObserver.convert(buffer) else {
            throw .processingFailed(
                .init(
                    "frame", actual: "can't be mapped: it needs \(info.size) bytes, but the buffer has \(buffer.size)"))
        }
        return try flip(result, direction)
    }

    /// The format of the last copy.
    private(set) lazy var copied: (info: VideoInfo, caps: Caps) = converted

    private func flip(_ buffer: consuming Buffer, _ direction: VideoOrientation) throws(MediaGraphError) -> Buffer {
        guard direction != .upright else {
            copied = converted
            return buffer
        }
        try FrameTurner.check(direction, info, caps, before: "the observer")
        let filter = try filters(direction).toObserver
        do {
            let result = try filter.apply(buffer, caps: converted.caps)
            if let caps = filter.outputCaps, caps !== turned?.caps, let info = VideoInfo(caps) { turned = (info, caps) }
            copied = turned ?? converted
            return result
        } catch { throw .wrapping(error, "rotation and mirror") }
    }

    private func filters(
        _ direction: VideoOrientation
    ) throws(MediaGraphError) -> (toObserver: BufferFilter, toStream: BufferFilter) {
        do {
            if let turn, turn.direction == direction { return (turn.toObserver, turn.toStream) }
            let filters = try turn ?? (BufferFilter("videoflip"), BufferFilter("videoflip"), direction)
            try filters.toObserver.set("video-direction", to: direction.videoDirection)
            try filters.toStream.set("video-direction", to: direction.inverse.videoDirection)
            turn = (filters.toObserver, filters.toStream, direction)
            return (filters.toObserver, filters.toStream)
        } catch { throw .wrapping(error, "rotation and mirror") }
    }

    /// Converts an edited copy back and writes it over the stream's frame.
    func write(
        _ copy: consuming Buffer, _ direction: VideoOrientation, over buffer: BufferAccess
    ) throws(MediaGraphError) {
        var edited = copy
        if direction != .upright {
            let filters = try filters(direction)
            do { edited = try filters.toStream.apply(edited, caps: copied.caps) } catch {
                throw .wrapping(error, "rotation and mirror")
            }
        }
        let isDone = buffer.withVideoFrame(info, .readWrite) { target in
            if let toStream {
                guard keepsAlpha else { return toStream.convert(edited.access, into: &target) }
                guard let result = toStream.convert(edited.access) else { return false }
                return target.copyColor(of: result, info)
            }
            return target.copy(edited.access, info)
        }
        guard isDone == true else {
            throw .processingFailed(
                .init(
                    "frame", actual: "can't be written: it needs \(info.size) bytes, but the buffer has \(buffer.size)")
            )
        }
    }
}
