import MediaGraph
import Synchronization

// Ported from the Zoom Video SDK's "Send raw share data": MyShareSource.swift.
//
// Faults of the original: the task reads `sender` and the SDK's thread writes it, without a lock. The result of sending
// a frame is ignored. The sender is optional, so frames of a share without a sender would be lost silently. The result
// of starting the share is ignored too. Here the task uses the sender that it was started with, an error ends the task,
// and `startSharing` throws.

final class MyShareSource: ShareSource {
    private let pumpTask = Mutex<Task<Void, Never>?>(nil)

    func shareSendStarted(sender: VideoSender) {
        // sendVideoFrame sends one frame, so pump frames on a background task.
        let task = Task(priority: .userInitiated) {
            var number = 0
            while !Task.isCancelled {
                let frame = ShareFrame(number: number)  // raw share frame from your source
                do {
                    try await sender.sendVideoFrame(
                        frame.buffer, width: frame.width, height: frame.height, dataLength: frame.length,
                        format: frame.format)
                } catch { return }
                number += 1
                try? await Task.sleep(nanoseconds: 33_000_000)
            }
        }
        pumpTask.withLock { $0 = task }
    }

    func shareSendStopped() { pumpTask.withLock { $0.take()?.cancel() } }
}

/// A frame of a window that grows with each frame. Its gray level is the frame's number.
private struct ShareFrame {
    let buffer: [UInt8]
    let width: Int
    let height = 180
    let format = FrameFormat(.bgra)
    var length: Int { buffer.count }

    init(number: Int) {
        width = 320 + 2 * (number % 100)
        buffer = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: width * height * 4)
    }
}

extension Sample {
    static let zoomShareSource = Sample(
        name: "zoom-share-source", summary: "ZoomVideoSDKShareSource, started in a session and read by another user"
    ) { frames in
        let lines = Lines()
        let graph = try Graph(
            """
            mediasession name=bob room=share-sample user=bob  sharesource name=share ! bob.share
            mediasession name=alice room=share-sample user=alice
            alice.share_bob ! rawdatapipe name=pipe format=BGRA backpressure=block
            """)
        try graph.rawDataPipe("pipe").receive { frame in
            guard lines.all.count < frames else { return }
            lines.add(
                "\(frame.width)×\(frame.height) \(frame.format.gstreamerName), first blue \(frame.packedBytes[0])")
        }
        try await graph.start()
        // Register the share source with the session.
        let share = try graph.shareSource("share")
        try await share.startSharing(MyShareSource())
        while lines.all.count < frames { try await Task.sleep(for: .milliseconds(5)) }
        try await share.stopSharing()
        await graph.stop()
        return lines.all
    }
}
