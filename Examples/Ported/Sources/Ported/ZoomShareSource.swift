import Foundation
import MediaGraph
import Synchronization

// Ported from the Zoom Video SDK's "Send raw share data": MyShareSource.swift and MyShareSource.m, and
// RawShareDataExample of "Raw data".
//
// Changes besides names: the properties are behind a `Mutex` or `Atomic`. Sending throws, and in a task it may suspend.
// Starting the share throws.
//
// Faults of the original: the results of sending a frame and of starting the share are ignored. RawShareDataExample
// sends a single frame; here, users who subscribe or join later get it too.

final class MyShareSource: ShareSource {
    private let sender = Mutex<VideoSender?>(nil)
    private let pumpTask = Mutex<Task<Void, Never>?>(nil)
    private let window = Window()

    func shareSendStarted(sender rawDataSender: VideoSender) {
        sender.withLock { $0 = rawDataSender }
        // sendShareFrame sends one frame, so pump frames on a background task.
        let task = Task(priority: .userInitiated) {
            while !Task.isCancelled {
                let frame = window.captureShareFrame()  // raw share frame from your source
                try? await sender.withLock { $0 }?.sendVideoFrame(
                    frame.buffer, width: frame.width, height: frame.height, dataLength: frame.length,
                    format: frame.format)
                try? await Task.sleep(nanoseconds: 33_000_000)
            }
        }
        pumpTask.withLock { $0 = task }
    }

    func shareSendStopped() {
        pumpTask.withLock { pumpTask in
            pumpTask?.cancel()
            pumpTask = nil
        }
        sender.withLock { $0 = nil }
    }
}

private final class MyThreadedShareSource: ShareSource {
    private let sender = Mutex<VideoSender?>(nil)
    private let running = Atomic(false)
    private let window = Window()

    func shareSendStarted(sender rawDataSender: VideoSender) {
        sender.withLock { $0 = rawDataSender }
        running.store(true, ordering: .relaxed)
        // sendShareFrame sends one frame, so pump frames on a background queue.
        DispatchQueue.global(qos: .userInitiated).async { [self] in
            while running.load(ordering: .relaxed) {
                let frame = window.captureShareFrame()  // raw share frame from your source
                try? sender.withLock { $0 }?.sendVideoFrame(
                    frame.buffer, width: frame.width, height: frame.height, dataLength: frame.length,
                    format: frame.format)
                Thread.sleep(forTimeInterval: 0.033)
            }
        }
    }

    func shareSendStopped() {
        running.store(false, ordering: .relaxed)
        sender.withLock { $0 = nil }
    }
}

private final class RawShareDataExample: ShareSource {
    private let shareSender = Mutex<VideoSender?>(nil)
    private let window = Window()

    func shareSendStarted(sender rawDataSender: VideoSender) throws {
        shareSender.withLock { $0 = rawDataSender }
        // sendShareFrame sends one frame data, therefore you will most likely need a thread for the full frame.
        let frame = window.captureShareFrame()
        try shareSender.withLock { $0 }?.sendVideoFrame(
            frame.buffer, width: frame.width, height: frame.height, dataLength: frame.length, format: frame.format)
    }

    func shareSendStopped() {
        // Stop sending raw share data.
        shareSender.withLock { $0 = nil }
    }
}

/// The application's window, which the documents' samples call. It grows with each frame, and its gray level is the frame's
/// number.
private final class Window: Sendable {
    struct ShareFrame {
        let buffer: [UInt8]
        let width: Int
        let height = 180
        let format = FrameFormat(.bgra)
        var length: Int { buffer.count }
    }
    private let count = Atomic<Int>(0)

    func captureShareFrame() -> ShareFrame {
        let number = count.wrappingAdd(1, ordering: .relaxed).oldValue % 100
        let width = 320 + 2 * number
        return ShareFrame(buffer: [UInt8](repeating: UInt8(number), count: width * 180 * 4), width: width)
    }
}

extension Sample {
    static let zoomShareSource = share("zoom-share-source", "that sends from a task") { MyShareSource() }
    static let zoomShareSourceThread = share("zoom-share-source-thread", "that sends from a thread") {
        MyThreadedShareSource()
    }
    static let zoomShareSourceExample = share(
        "zoom-share-source-example", "that sends a single frame", isStill: true
    ) { RawShareDataExample() }

    private static func share(
        _ name: String, _ text: String, isStill: Bool = false, _ make: @escaping @Sendable () -> any ShareSource
    ) -> Sample {
        Sample(name: name, summary: "ZoomVideoSDKShareSource \(text)") { frames in
            let call = try await Call()
            // Register the share source with the SDK.
            try await call.alice.shareHelper.startSharing(make(), audioSource: nil, playLocally: false)
            while try !call.user.isSending(.share) { try await Task.sleep(for: .milliseconds(5)) }
            var lines: [String] = []
            // One reader of a moving share, or several readers of a single frame.
            for _ in 0..<(isStill ? frames : 1) {
                let shared = try call.user.sharePipe.frames(resolution: .native, format: .bgra)
                for try await frame in shared.prefix(isStill ? 1 : frames) {
                    lines.append("\(frame.width)×\(frame.height), first blue \(try frame.packedBytes()[0])")
                }
            }
            await call.alice.shareHelper.stopSharing()
            await call.leave()
            return lines
        }
    }
}
