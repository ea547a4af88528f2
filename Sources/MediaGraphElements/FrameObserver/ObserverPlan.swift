import GStreamer
import MediaGraphCore

/// How frames of one caps become what an observer prefers, and back.
///
/// Belongs to the streaming thread; made anew when the caps or the preference change.
final class ObserverPlan {
    let preference: FramePreference
    let caps: Caps
    let info: VideoInfo
    /// The stream's frame as it came in, for `on-error=pass`.
    private(set) lazy var backup = FrameBackup(info)
    /// In the observer's format, neither turned nor mirrored.
    private let converted: (info: VideoInfo, caps: Caps)
    private let forth: VideoConverter?
    private let back: VideoConverter?
    private var turn: (there: BufferFilter, back: BufferFilter, direction: VideoOrientation)?
    /// What the last turned frame was.
    private var turned: (info: VideoInfo, caps: Caps)?

    init(_ caps: Caps, _ preference: FramePreference, edits: Bool) throws(MediaGraphError) {
        guard let info = VideoInfo(caps) else {
            throw .unsupported(.init("the stream", expected: "raw video", actual: "\(caps)"))
        }
        let losesAlpha = info.hasAlpha && !preference.format.hasAlpha
        guard !edits || !losesAlpha || info.alphaDepth == 8 else {
            throw .unsupported(
                .init(
                    "an editor's preference",
                    expected:
                        "a format with alpha: \(info.formatName) has \(info.alphaDepth) bits of it, which can't be kept",
                    actual: preference.format.gstreamerName))
        }
        self.caps = caps
        self.info = info
        self.preference = preference
        if info.format == preference.format {
            converted = (info, caps)
            (forth, back) = (nil, nil)
            return
        }
        guard let output = info.converted(to: preference.format, size: (info.width, info.height), squarePixels: false),
            let forth = VideoConverter(from: info, to: output)
        else {
            throw .unsupported(
                .init("conversion to \(preference.format.gstreamerName)", actual: "\(caps)"))
        }
        converted = (output, output.caps)
        self.forth = forth
        back = edits ? VideoConverter(from: output, to: info) : nil
        guard !edits || back != nil else {
            throw .unsupported(.init("conversion from \(preference.format.gstreamerName)", actual: "\(caps)"))
        }
    }

    /// The observer has seen no alpha, so it has changed none.
    private var keepsAlpha: Bool { info.hasAlpha && !converted.info.hasAlpha }

    /// What is to be done to a frame that lies so: turned upright, then mirrored left to right.
    func direction(_ orientation: VideoOrientation) -> VideoOrientation {
        (preference.appliesRotation ? orientation : .upright)
            .followed(by: VideoOrientation(isFlipped: preference.appliesMirror))
    }

    /// The observer sees the stream's own buffer.
    func isDirect(_ direction: VideoOrientation) -> Bool { forth == nil && direction == .upright }

    /// A copy as the observer prefers it, with its layout.
    func copy(
        _ buffer: BufferAccess, _ direction: VideoOrientation
    ) throws(MediaGraphError) -> Buffer {
        guard let forth else { return try flip(buffer.retained, direction) }
        guard let result = forth.convert(buffer) else {
            throw .processingFailed(
                .init("a frame", expected: "\(info.size) bytes that can be mapped", actual: "\(buffer.size)"))
        }
        return try flip(result, direction)
    }

    /// What the last copy is.
    private(set) lazy var copied: (info: VideoInfo, caps: Caps) = converted

    private func flip(_ buffer: consuming Buffer, _ direction: VideoOrientation) throws(MediaGraphError) -> Buffer {
        guard direction != .upright else {
            copied = converted
            return buffer
        }
        guard !info.isInterlaced || direction == VideoOrientation(isFlipped: true) else {
            // Lines of two moments would become columns, or change places.
            throw .unsupported(
                .init(
                    "rotation", expected: "progressive video (put deinterlace before the observer)", actual: "\(caps)"))
        }
        let there = try filters(direction).there
        do {
            let result = try there.apply(buffer, caps: converted.caps)
            if let caps = there.outputCaps, caps !== turned?.caps, let info = VideoInfo(caps) { turned = (info, caps) }
            copied = turned ?? converted
            return result
        } catch { throw .wrapping(error, "rotation and mirror") }
    }

    private func filters(
        _ direction: VideoOrientation
    ) throws(MediaGraphError) -> (there: BufferFilter, back: BufferFilter) {
        do {
            if let turn, turn.direction == direction { return (turn.there, turn.back) }
            let filters = try turn ?? (BufferFilter("videoflip"), BufferFilter("videoflip"), direction)
            try filters.there.set("video-direction", to: direction.videoDirection)
            try filters.back.set("video-direction", to: direction.inverse.videoDirection)
            turn = (filters.there, filters.back, direction)
            return (filters.there, filters.back)
        } catch { throw .wrapping(error, "rotation and mirror") }
    }

    /// Writes an edited copy over the stream's frame, as the stream has it.
    func write(
        _ copy: consuming Buffer, _ direction: VideoOrientation, over buffer: BufferAccess
    ) throws(MediaGraphError) {
        var edited = copy
        if direction != .upright {
            let filters = try filters(direction)
            do { edited = try filters.back.apply(edited, caps: copied.caps) } catch {
                throw .wrapping(error, "rotation and mirror")
            }
        }
        let isDone = buffer.withVideoFrame(info, .readWrite) { target in
            if let back {
                guard keepsAlpha else { return back.convert(edited.access, into: &target) }
                guard let result = back.convert(edited.access) else { return false }
                return target.copyColor(of: result, info)
            }
            return target.copy(edited.access, info)
        }
        guard isDone == true else {
            throw .processingFailed(
                .init("a frame", expected: "\(info.size) bytes that can be written", actual: "\(buffer.size)"))
        }
    }
}
