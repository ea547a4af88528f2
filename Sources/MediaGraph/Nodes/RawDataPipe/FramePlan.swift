import GStreamer

/// How frames of one caps become what a pipe delivers: as they are, or converted.
///
/// Belongs to the one thread that delivers; made anew when the caps change.
final class FramePlan {
    /// The caps of what comes in, compared by identity for each frame.
    let inputCaps: Caps
    /// What is delivered.
    let output: VideoInfo
    let outputCaps: Caps
    private let converter: VideoConverter?

    init(_ caps: Caps, format: VideoFormat, resolution: Resolution) throws(MediaGraphError) {
        guard let input = VideoInfo(caps) else {
            throw .unsupported(.init("the stream", expected: "raw video", actual: "\(caps)"))
        }
        inputCaps = caps
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
                    "resolution=\(resolution.nick)", expected: "progressive video (put deinterlace before the pipe)",
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

    var converts: Bool { converter != nil }

    /// The delivered buffer.
    func apply(to buffer: BufferAccess) throws(MediaGraphError) -> Buffer {
        guard let converter else { return buffer.retained }
        guard let converted = converter.convert(buffer) else {
            throw .allocationFailed(
                .init("a frame", expected: "\(converter.input.size) bytes that can be mapped", actual: "\(buffer.size)")
            )
        }
        return converted
    }
}
