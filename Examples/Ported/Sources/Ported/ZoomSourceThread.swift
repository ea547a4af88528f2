import Foundation
import MediaGraph
import Synchronization

// Ported from the Zoom Video SDK's "Send raw video data": MyVideoSource.m.
//
// Faults of the original: two threads use `running`, a plain BOOL, and a start right after a stop leaves two threads
// sending. onStopSend doesn't wait, so a frame may be sent after it. Here each thread has its own flag, and stopSend
// waits for the thread.

private final class MyThreadedVideoSource: VideoSource {
    private final class Pump: Sendable {
        let isRunning = Atomic<Bool>(true)
        let ended = DispatchSemaphore(value: 0)
    }
    private let sender = Mutex<VideoSender?>(nil)
    private let pump = Mutex<Pump?>(nil)

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        // Store the sender; it refuses frames until startSend.
        self.sender.withLock { $0 = sender }
    }

    func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {
        // Downstream renegotiated; adjust the pump if needed.
    }

    func startSend() {
        guard let sender = sender.withLock({ $0 }) else { return }
        let pump = Pump()
        self.pump.withLock { $0 = pump }
        // Frames are accepted. Begin pumping on a background thread.
        Thread.detachNewThread {
            Self.run(pump, sender)
            pump.ended.signal()
        }
    }

    private static func run(_ pump: Pump, _ sender: VideoSender) {
        var number = 0
        while pump.isRunning.load(ordering: .acquiring) {
            let frame = CapturedFrame(number: number)
            do {
                try frame.buffer.withUnsafeBytes { buffer in
                    try sender.sendVideoFrame(
                        buffer.baseAddress!, width: frame.width, height: frame.height, dataLength: frame.length,
                        rotation: frame.rotation, format: frame.format)
                }
            } catch { return }
            number += 1
            Thread.sleep(forTimeInterval: 0.033)  // ~30 fps
        }
    }

    func stopSend() {
        guard let pump = pump.withLock({ $0.take() }) else { return }
        pump.isRunning.store(false, ordering: .releasing)
        pump.ended.wait()
    }

    func uninitialize() { sender.withLock { $0 = nil } }
}

extension Sample {
    static let zoomSourceThread = Sample(
        name: "zoom-source-thread", summary: "ZoomVideoSDKVideoSource that sends from a thread"
    ) { frames in try await receive(frames, from: MyThreadedVideoSource()) }
}
