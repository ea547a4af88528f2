import MediaGraph
import Synchronization

// Zoom Video SDK, "Send raw video data", MyVideoSource.swift.
//
// What the original gets wrong: `sender` is read by the task and written by the SDK's thread without a lock; nobody looks at
// what became of a frame; 33 ms of sleep and the time that a frame takes make less than 30 frames/s, unevenly stamped.
// Here a lock holds both; a refusal ends the pump; the declared rate makes even timestamps of uneven arrivals.

final class MyVideoSource: VideoSource {
    private struct State {
        var sender: VideoSender?
        var pumpTask: Task<Void, Never>?
    }
    private let state = Mutex(State())

    let capabilities = [VideoCapability(width: 320, height: 180, framesPerSecond: Fraction(30, 1))]

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        // Store the sender; it refuses frames until startSend.
        state.withLock { $0.sender = sender }
    }

    func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {
        // Downstream renegotiated; adjust the pump if needed.
    }

    func startSend() {
        // Frames are accepted. Begin pumping on a background task.
        state.withLock { state in
            guard let sender = state.sender else { return }
            state.pumpTask = Task(priority: .userInitiated) {
                var number = 0
                while !Task.isCancelled {
                    let frame = CapturedFrame(number: number)
                    do {
                        try await sender.sendVideoFrame(
                            frame.buffer, width: frame.width, height: frame.height, dataLength: frame.length,
                            rotation: frame.rotation, format: frame.format)
                    } catch { return }
                    number += 1
                    try? await Task.sleep(nanoseconds: 33_000_000)  // ~30 fps
                }
            }
        }
    }

    func stopSend() { state.withLock { $0.pumpTask.take()?.cancel() } }

    func uninitialize() { state.withLock { $0.sender = nil } }
}

extension Sample {
    static let zoomSourceTask = Sample(
        name: "zoom-source-task", summary: "ZoomVideoSDKVideoSource with a pump that is a Task"
    ) { frames in try await receive(frames, from: MyVideoSource()) }
}
