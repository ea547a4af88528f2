import MediaGraph
import Synchronization

/// A frame in place of the documents' `captureNextFrame()`: a moving gradient that begins with twice its number.
struct CapturedFrame: Sendable {
    let buffer: [UInt8]
    let width = 320
    let height = 180
    var rotation = Rotation.none
    let format = FrameFormat.i420
    var length: Int { buffer.count }

    init(number: Int) {
        let luma = (0..<320 * 180).map { UInt8(truncatingIfNeeded: $0 % 320 + number * 2) }
        buffer = luma + [UInt8](repeating: 128, count: 320 * 180 / 2)
    }
}

/// The application's camera, which the documents' samples call.
final class CaptureDevice: Sendable {
    private let count = Atomic<Int>(0)

    func captureNextFrame() -> CapturedFrame {
        CapturedFrame(number: count.wrappingAdd(1, ordering: .relaxed).oldValue % 100)
    }
}

/// A source in place of the SDK's own camera: 30 frames/s, each rotated 90° further than the last.
final class Camera: AsyncVideoSource {
    func run(sender: VideoSender) async throws {
        var number = 0
        while !Task.isCancelled {
            let frame = CapturedFrame(number: number % 100)
            try await sender.sendVideoFrame(
                frame.buffer, width: frame.width, height: frame.height, dataLength: frame.length,
                rotation: Rotation.allCases[number % 4], format: frame.format)
            number += 1
            try await Task.sleep(for: .milliseconds(33))
        }
    }
}
