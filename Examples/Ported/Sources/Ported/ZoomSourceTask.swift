import MediaGraph
import Synchronization

// Ported from the Zoom Video SDK's "Send raw video data": MyVideoSource.swift.
//
// Changes besides names: both properties are behind a `Mutex`, because the SDK's thread writes them while the task reads one.
// Sending throws, and in a task it may suspend.
//
// Faults of the original: the result of sending a frame is ignored. Sleeping 33 ms in addition to the time that a frame
// takes gives less than 30 frames/s, with uneven timestamps.

private final class MyVideoSource: VideoSource {
    private let sender = Mutex<VideoSender?>(nil)
    private let pumpTask = Mutex<Task<Void, Never>?>(nil)
    private let device = CaptureDevice()

    func initialize(sender rawDataSender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        // Store the sender; the SDK isn't ready for frames yet.
        sender.withLock { $0 = rawDataSender }
    }

    func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {
        // The session or device renegotiated; adjust your pump if needed.
    }

    func startSend() {
        // The SDK is ready for frames. Begin pumping on a background task.
        let task = Task(priority: .userInitiated) {
            while !Task.isCancelled {
                let frame = device.captureNextFrame()  // YUV I420 bytes from your source
                try? await sender.withLock { $0 }?.sendVideoFrame(
                    frame.buffer, width: frame.width, height: frame.height, dataLength: frame.length,
                    rotation: frame.rotation, format: frame.format)
                try? await Task.sleep(nanoseconds: 33_000_000)  // ~30 fps
            }
        }
        pumpTask.withLock { $0 = task }
    }

    func stopSend() {
        pumpTask.withLock { pumpTask in
            pumpTask?.cancel()
            pumpTask = nil
        }
    }

    func uninitialize() { sender.withLock { $0 = nil } }
}

extension Sample {
    static let zoomSourceTask = Sample(
        name: "zoom-source-task", summary: "ZoomVideoSDKVideoSource that sends from a task"
    ) { frames in
        // Assign your source to the session context before joining: `receive` does.
        try await receive(frames, from: MyVideoSource())
    }
}
