import MediaGraph
import Synchronization

// Ported from the Zoom Video SDK's "Send raw video data": MyVideoSource.swift.
//
// Faults of the original: the task reads `sender` and the SDK's thread writes it, without a lock. The result of sending
// a frame is ignored. Sleeping 33 ms in addition to the time that a frame takes gives less than 30 frames/s, with
// uneven timestamps. Here a lock guards the sender and the task; an error ends the task; and the node computes even
// timestamps from the declared rate.

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
        name: "zoom-source-task", summary: "ZoomVideoSDKVideoSource that sends from a task"
    ) { frames in try await receive(frames, from: MyVideoSource()) }
}
