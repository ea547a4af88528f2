import GStreamer

/// Turns frames upright and mirrors them, with GStreamer's `videoflip`.
///
/// Belongs to the one thread that delivers.
final class FrameTurner {
    private let filter: BufferFilter
    private let rotates: Bool
    private let mirrors: Bool
    private var direction = ""
    private var known: (caps: Caps, info: VideoInfo)?

    /// Throws `unsupported` where videoflip isn't there, or can't do `format`.
    init(_ format: VideoFormat, rotates: Bool, mirrors: Bool) throws(MediaGraphError) {
        self.rotates = rotates
        self.mirrors = mirrors
        do { filter = try BufferFilter("videoflip") } catch { throw .turning(error) }
        let taken = filter.element.staticPad("sink")?.queryCaps()
        guard taken?.canIntersect(NodeDefinition.caps(formats: [format])) == true else {
            throw .unsupported(
                .init(
                    rotates ? "apply-rotation" : "apply-mirror", expected: "a format that can be turned, such as I420",
                    actual: format.gstreamerName))
        }
    }

    /// The `video-direction` for a frame that is to be turned clockwise by `rotation`: first turned, then mirrored left to
    /// right. A mirrored frame that isn't turned here is flipped so that it is mirrored once somebody has turned it.
    static func direction(_ rotation: Rotation, rotates: Bool, mirrors: Bool) -> String? {
        switch (rotation, rotates, mirrors) {
        case (_, false, false), (.none, true, false): nil
        case (.clockwise90, true, false): "90r"
        case (.clockwise180, true, false): "180"
        case (.clockwise270, true, false): "90l"
        case (.none, _, true), (.clockwise180, false, true): "horiz"
        case (.clockwise90, true, true): "ul-lr"
        case (.clockwise180, true, true), (.clockwise90, false, true), (.clockwise270, false, true): "vert"
        case (.clockwise270, true, true): "ur-ll"
        }
    }

    /// The frame as it is to be delivered.
    func apply(_ frame: consuming PreparedFrame) throws(MediaGraphError) -> PreparedFrame {
        let rotation = rotates ? Rotation.none : frame.rotation
        guard let wanted = Self.direction(frame.rotation, rotates: rotates, mirrors: mirrors) else {
            return PreparedFrame(buffer: frame.buffer.retained, info: frame.info, caps: frame.caps, rotation: rotation)
        }
        let turned: Buffer
        do {
            if wanted != direction {
                try filter.set("video-direction", to: wanted)
                direction = wanted
            }
            turned = try filter.apply(frame.buffer.retained, caps: frame.caps)
        } catch { throw .turning(error) }
        let (caps, info) = try output()
        return PreparedFrame(buffer: turned, info: info, caps: caps, rotation: rotation)
    }

    private func output() throws(MediaGraphError) -> (Caps, VideoInfo) {
        guard let caps = filter.outputCaps else { throw .internalError(.init("videoflip", actual: "no caps")) }
        if let known, known.caps === caps { return known }
        guard let info = VideoInfo(caps) else { throw .internalError(.init("videoflip", actual: "\(caps)")) }
        known = (caps, info)
        return (caps, info)
    }
}

/// A frame on its way from the stream to its receiver, after conversion.
struct PreparedFrame: ~Copyable {
    let buffer: Buffer
    let info: VideoInfo
    let caps: Caps
    let rotation: Rotation
}

extension MediaGraphError {
    fileprivate static func turning(_ error: any Error) -> MediaGraphError {
        .unsupported(.init("apply-rotation, apply-mirror", actual: "\(error)"))
    }
}
