import GStreamer
import MediaGraphCore

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
        guard taken?.canIntersect(FrameCaps.of(formats: [format])) == true else {
            throw .unsupported(
                .init(
                    rotates ? "apply-rotation" : "apply-mirror", expected: "a format that can be turned, such as I420",
                    actual: format.gstreamerName))
        }
    }

    /// What is to be done to a frame that lies so: first it is turned, then mirrored left to right. A mirrored frame that
    /// isn't turned here is flipped so that it is mirrored once somebody has turned it.
    static func change(_ orientation: VideoOrientation, rotates: Bool, mirrors: Bool) -> VideoOrientation {
        guard mirrors else { return rotates ? orientation : .upright }
        let mirrored = orientation.followed(by: VideoOrientation(isFlipped: true))
        return rotates ? mirrored : mirrored.followed(by: orientation.inverse)
    }

    /// The frame as it is to be delivered.
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
        guard let caps = filter.outputCaps else { throw .internalError(.init("videoflip", actual: "no caps")) }
        if let known, known.caps === caps { return known }
        guard let info = VideoInfo(caps) else { throw .internalError(.init("videoflip", actual: "\(caps)")) }
        known = (caps, info)
        return (caps, info)
    }
}

/// A frame on its way from the stream to its receiver, after conversion.
package struct PreparedFrame: ~Copyable {
    package let buffer: Buffer
    let info: VideoInfo
    let caps: Caps
    let orientation: VideoOrientation
    /// What the mirror mode asks to flip in it.
    let mirror: Flip
}

extension MediaGraphError {
    fileprivate static func turning(_ error: any Error) -> MediaGraphError {
        .unsupported(.init("apply-rotation, apply-mirror", actual: "\(error)"))
    }
}
