import GStreamer
import MediaGraphCore

/// How frames of one caps become what a pipe delivers: as they are, or converted.
///
/// Belongs to the one thread that delivers; made anew when the caps change.
package final class FramePlan {
    /// The caps of what comes in, compared by identity for each frame.
    let inputCaps: Caps
    /// What is delivered.
    package let output: VideoInfo
    package let outputCaps: Caps
    private let converter: VideoConverter?
    private let turner: FrameTurner?

    /// `taken` are the formats that the receiver takes; empty: all.
    init(_ caps: Caps, _ setup: Subscription.Setup, taken: [VideoFormat] = []) throws(MediaGraphError) {
        guard let input = VideoInfo(caps), !input.isFieldPerBuffer else {
            throw .unsupported(
                .init("the stream", expected: "raw video, progressive or interleaved", actual: "\(caps)"))
        }
        let format = Self.format(setup.format, for: input, taken)
        let resolution = setup.resolution
        inputCaps = caps
        turner =
            setup.appliesRotation || setup.appliesMirror
            ? try FrameTurner(format, rotates: setup.appliesRotation, mirrors: setup.appliesMirror) : nil
        let size = resolution.size(for: input)
        let isScaled = size != (input.width, input.height)
        guard isScaled || input.format != format || (resolution != .native && input.pixelAspectRatio.value != 1) else {
            output = input
            outputCaps = caps
            converter = nil
            return
        }
        if isScaled, input.isInterlaced {
            // Lines of two moments would be blended into one picture.
            throw .unsupported(
                .init(
                    "resolution=\(resolution.text)", expected: "progressive video (put deinterlace before the pipe)",
                    actual: "\(caps)"))
        }
        guard let output = input.converted(to: format, size: size, squarePixels: resolution != .native) else {
            throw .unsupported(.init("the stream's size", actual: "\(caps)"))
        }
        self.output = output
        outputCaps = output.caps
        guard let converter = VideoConverter(from: input, to: output) else {
            throw .unsupported(
                .init("conversion", expected: "\(output.caps)", actual: "\(caps)"))
        }
        self.converter = converter
    }

    /// Frames in their own format, at most `resolution` high.
    package convenience init(_ caps: Caps, _ resolution: Resolution) throws(MediaGraphError) {
        try self.init(caps, Subscription.Setup(resolution: resolution))
    }

    /// What frames of `input` become. Without alpha A420 would be a promise that nothing keeps: they are I420 then, unless
    /// the receiver takes nothing else.
    private static func format(_ wanted: VideoFormat?, for input: VideoInfo, _ taken: [VideoFormat]) -> VideoFormat {
        switch wanted {
        case .a420 where !input.hasAlpha && (taken.isEmpty || taken.contains(.i420)): return .i420
        case let wanted?: return wanted
        case nil:
            if let own = input.format, taken.isEmpty || taken.contains(own) { return own }
            return taken.first ?? .i420
        }
    }

    /// Whether the stream's own buffer is what is delivered.
    var isPassthrough: Bool { converter == nil && turner == nil }

    /// What is delivered of a frame: converted first, turned after.
    package func apply(
        to buffer: BufferAccess, _ orientation: VideoOrientation, _ mirror: Flip
    ) throws(MediaGraphError) -> PreparedFrame {
        let frame = PreparedFrame(
            buffer: try convert(buffer), info: output, caps: outputCaps, orientation: orientation, mirror: mirror)
        guard let turner else { return frame }
        return try turner.apply(frame)
    }

    private func convert(_ buffer: BufferAccess) throws(MediaGraphError) -> Buffer {
        guard let converter else { return buffer.retained }
        guard let converted = converter.convert(buffer) else {
            throw .allocationFailed(
                .init("a frame", expected: "\(converter.input.size) bytes that can be mapped", actual: "\(buffer.size)")
            )
        }
        return converted
    }
}
