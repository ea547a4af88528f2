import GStreamer
import MediaGraphCore

/// Converts frames with given caps to the form that a pipe delivers, or passes them through.
///
/// Used on the thread that delivers. A new plan is made when the caps change.
package final class FramePlan {
    /// The caps of the incoming frames, compared by identity for each frame.
    let inputCaps: Caps
    /// The format of the delivered frames.
    package let output: VideoInfo
    package let outputCaps: Caps
    private let converter: VideoConverter?
    private let turner: FrameTurner?

    /// `supported` are the formats that the receiver supports; empty for all.
    init(_ caps: Caps, _ setup: Subscription.Setup, supported: [VideoFormat] = []) throws(MediaGraphError) {
        guard let input = VideoInfo(caps), !input.isFieldPerBuffer else {
            throw .unsupported(
                .init("the stream", expected: "raw video, progressive or interleaved", actual: "\(caps)"))
        }
        let format = Self.format(setup, for: input, supported)
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
        guard caps.isInMemory(BufferType.readableMemory, 0) else {
            throw .unsupported(
                .init(
                    "conversion to \(format.gstreamerName)",
                    actual: "isn't possible from \(caps), whose memory the CPU can't read; convert it before the pipe"))
        }
        if isScaled, input.isInterlaced {
            // Scaling would blend lines of two fields, captured at two moments.
            throw .unsupported(
                .init(
                    "resolution=\(resolution.text)",
                    actual: "interlaced video can't be scaled; put deinterlace before the pipe (upstream sends \(caps))"
                ))
        }
        guard let output = input.converted(to: format, size: size, squarePixels: resolution != .native) else {
            throw .unsupported(
                .init(
                    "conversion to \(format.gstreamerName), \(size.width)x\(size.height)",
                    actual: "isn't possible from \(caps)"))
        }
        self.output = output
        outputCaps = output.caps
        guard let converter = VideoConverter(from: input, to: output) else {
            throw .unsupported(.init("conversion to \(output.caps)", actual: "isn't possible from \(caps)"))
        }
        self.converter = converter
    }

    /// Creates a plan that keeps the frames' format and scales them to at most `resolution`.
    package convenience init(_ caps: Caps, _ resolution: Resolution) throws(MediaGraphError) {
        try self.init(caps, Subscription.Setup(resolution: resolution))
    }

    /// Returns the delivered format. Input without alpha is delivered as I420 instead of A420, if the receiver supports
    /// I420: an A420 frame would promise alpha that the stream doesn't have.
    private static func format(
        _ setup: Subscription.Setup, for input: VideoInfo, _ supported: [VideoFormat]
    ) -> VideoFormat {
        switch setup.format {
        case .i420 where setup.keepsAlpha && input.format == .a420: return .a420
        case .a420 where !input.hasAlpha && (supported.isEmpty || supported.contains(.i420)): return .i420
        case let wanted?: return wanted
        case nil:
            if let own = input.format, supported.isEmpty || supported.contains(own) { return own }
            return supported.first ?? .i420
        }
    }

    /// Whether the stream's own buffer is delivered.
    var isPassthrough: Bool { converter == nil && turner == nil }

    /// Prepares a frame for delivery: converts it first, then turns it.
    package func apply(
        to buffer: BufferAccess, _ orientation: VideoOrientation, _ mirror: Flip
    ) throws(MediaGraphError) -> PreparedFrame {
        let frame = PreparedFrame(
            buffer: try convert(buffer), info: output, caps: outputCaps, orientation: orientation, mirror: mirror)
        guard let turner else { return frame }
        return try turner.apply(frame, of: inputCaps)
    }

    private func convert(_ buffer: BufferAccess) throws(MediaGraphError) -> Buffer {
        guard let converter else { return buffer.retained }
        guard let converted = converter.convert(buffer) else {
            throw .allocationFailed(
                .init(
                    "frame",
                    actual: "can't be converted: it needs \(converter.input.size) bytes, but the buffer has "
                        + "\(buffer.size) in \(buffer.memoryTypes.joined(separator: ", "))"))
        }
        return converted
    }
}
