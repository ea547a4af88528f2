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

    /// Returns how videoflip changes a frame with this orientation: it turns the frame upright, then mirrors it left to
    /// right. Without `rotates`, it flips the frame such that the frame is mirrored left to right once it has been
    /// turned upright later.
    static func change(_ orientation: VideoOrientation, rotates: Bool, mirrors: Bool) -> VideoOrientation {
        guard mirrors else { return rotates ? orientation : .upright }
        let mirrored = orientation.followed(by: VideoOrientation(isFlipped: true))
        return rotates ? mirrored : mirrored.followed(by: orientation.inverse)
    }

    /// Turns and mirrors a frame.
    func apply(_ frame: consuming PreparedFrame) throws(MediaGraphError) -> PreparedFrame {
        let orientation = rotates ? VideoOrientation.upright : frame.orientation
        let mirror = rotates ? frame.mirror.turned(by: frame.orientation) : frame.mirror
        let change = Self.change(frame.orientation, rotates: rotates, mirrors: mirrors)
        guard change != .upright else {
            return PreparedFrame(
                buffer: frame.buffer.retained, info: frame.info, caps: frame.caps, orientation: orientation,
                mirror: mirror)
        }
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
