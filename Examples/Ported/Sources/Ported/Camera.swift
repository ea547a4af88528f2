import MediaGraph

/// A frame in place of the documents' `captureNextFrame()`: a moving gradient.
struct CapturedFrame: Sendable {
    let buffer: [UInt8]
    let width = 320
    let height = 180
    let rotation = Rotation.none
    let format = FrameFormat.i420
    var length: Int { buffer.count }

    init(number: Int) {
        let luma = (0..<320 * 180).map { UInt8(truncatingIfNeeded: $0 % 320 + number * 2) }
        buffer = luma + [UInt8](repeating: 128, count: 320 * 180 / 2)
    }
}

/// A source in place of the SDK's own camera or of a remote user. It sends `count` frames, each rotated 90° further
/// than the last.
final class Camera: AsyncVideoSource {
    private let count: Int

    init(frames count: Int) { self.count = count }

    func run(sender: VideoSender) async throws {
        let rate = Fraction(30, 1)
        for number in 0..<count {
            let frame = CapturedFrame(number: number)
            try await sender.send(
                frame.buffer,
                FrameDescription(
                    width: frame.width, height: frame.height, format: frame.format,
                    rotation: Rotation.allCases[number % 4], framesPerSecond: rate,
                    timestamp: .frame(number, at: rate)))
        }
    }
}
