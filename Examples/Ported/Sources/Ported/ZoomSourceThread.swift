import Foundation
import MediaGraph
import Synchronization

// Ported from the Zoom Video SDK's "Send raw video data": MyVideoSource.m.
//
// Changes besides names: the properties are a `Mutex` and an `Atomic`. Sending throws.
//
// Faults of the original: two threads use `running`, a plain BOOL. A start within 33 ms of a stop leaves two loops
// running. This port keeps the fault; to avoid it, give each loop its own flag.

private final class MyThreadedVideoSource: VideoSource {
    private let sender = Mutex<VideoSender?>(nil)
    private let running = Atomic(false)
    private let device = CaptureDevice()

    func initialize(sender rawDataSender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        // Store the sender; the SDK isn't ready for frames yet.
        sender.withLock { $0 = rawDataSender }
    }

    func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {
        // The session or device renegotiated; adjust your pump if needed.
    }

    func startSend() {
        // The SDK is ready for frames. Begin pumping on a background queue.
        running.store(true, ordering: .relaxed)
        DispatchQueue.global(qos: .userInitiated).async { [self] in
            while running.load(ordering: .relaxed) {
                let frame = device.captureNextFrame()  // YUV I420 bytes from your source
                try? sender.withLock { $0 }?.sendVideoFrame(
                    frame.buffer, width: frame.width, height: frame.height, dataLength: frame.length,
                    rotation: frame.rotation, format: frame.format)
                Thread.sleep(forTimeInterval: 0.033)  // ~30 fps
            }
        }
    }

    func stopSend() { running.store(false, ordering: .relaxed) }

    func uninitialize() { sender.withLock { $0 = nil } }
}

extension Sample {
    static let zoomSourceThread = Sample(
        name: "zoom-source-thread", summary: "ZoomVideoSDKVideoSource that sends from a thread"
    ) { frames in try await receive(frames, from: MyThreadedVideoSource()) }
}
