import GStreamer
import MediaGraphCore

/// Turns frames upright and mirrors them, with GStreamer's `videoflip`.
///
/// Used on the thread that delivers.
final class FrameTurner {
    private let filter: BufferFilter
    private let rotates: Bool
    private let mirrors: Bool
    private var direction = ""
    /// The last output caps, parsed.
    private var known: (caps: Caps, info: VideoInfo)?

    /// Throws `unsupported` if videoflip isn't installed or doesn't support `format`.
    init(_ format: VideoFormat, rotates: Bool, mirrors: Bool) throws(MediaGraphError) {
        self.rotates = rotates
        self.mirrors = mirrors
        do { filter = try BufferFilter("videoflip") } catch { throw .turning(error) }
        let accepted = filter.element.staticPad("sink")?.queryCaps()
        guard accepted?.canIntersect(FrameCaps.of(formats: [format])) == true else {
            throw .unsupported(
                .init(
                    rotates ? "apply-rotation" : "apply-mirror", expected: "a format that can be turned, such as I420",
                    actual: format.gstreamerName))
        }
    }

    /// Throws `unsupported` if the change would tear the fields of an interlaced frame apart: the lines of two fields,
    /// captured at two moments, would become columns or swap places.
    static func check(
        _ change: VideoOrientation, _ info: VideoInfo, _ caps: Caps, before node: String
    ) throws(MediaGraphError) {
        guard info.isInterlaced, change != .upright, change != VideoOrientation(isFlipped: true) else { return }
        throw .unsupported(
            .init(
                "rotation",
                actual: "interlaced video can't be turned; put deinterlace before \(node) (upstream sends \(caps))"))
    }

    /// Turns and mirrors a frame of a stream with these caps.
    func apply(_ frame: consuming PreparedFrame, of stream: Caps) throws(MediaGraphError) -> PreparedFrame {
        let orientation = rotates ? VideoOrientation.upright : frame.orientation
        let mirror = rotates ? frame.mirror.turned(by: frame.orientation) : frame.mirror
        let change = frame.orientation.change(rotates: rotates, mirrors: mirrors)
        guard change != .upright else {
            return PreparedFrame(
                buffer: frame.buffer.retained, info: frame.info, caps: frame.caps, orientation: orientation,
                mirror: mirror)
        }
        try Self.check(change, frame.info, stream, before: "the pipe")
        let wanted = change.videoDirection
        let turned: Buffer
        do {
            if wanted != direction {
                try filter.set("video-direction", to: wanted)
                direction = wanted
            }
            turned = try filter.apply(frame.buffer.retained, caps: frame.caps)
        } catch { throw .turning(error) }
        let (caps, info) = try output()
        return PreparedFrame(buffer: turned, info: info, caps: caps, orientation: orientation, mirror: mirror)
    }

    private func output() throws(MediaGraphError) -> (Caps, VideoInfo) {
        guard let caps = filter.outputCaps else {
            throw .internalError(.init("videoflip", actual: "has no output caps"))
        }
        if let known, known.caps === caps { return known }
        guard let info = VideoInfo(caps) else {
            throw .internalError(.init("videoflip", actual: "has unreadable output caps \(caps)"))
        }
        known = (caps, info)
        return (caps, info)
    }
}

/// A converted frame, ready to be delivered.
package struct PreparedFrame: ~Copyable {
    package let buffer: Buffer
    let info: VideoInfo
    let caps: Caps
    let orientation: VideoOrientation
    /// The flip that the mirror mode asks for.
    let mirror: Flip
}

extension MediaGraphError {
    fileprivate static func turning(_ error: any Error) -> MediaGraphError {
        .unsupported(.init("apply-rotation, apply-mirror", actual: "\(error)"))
    }
}
