import MediaGraph
import Synchronization

// Ported from the Zoom Video SDK's "Raw data": the memory modes in ZoomVideoSDKInitParams (videoRawdataMemoryMode,
// shareRawdataMemoryMode and audioRawdataMemoryMode, all heap), and a delegate that keeps what it receives.
//
// Changes besides names: the modes are part of the session's context.
//
// Faults of the original: a callback can't tell which mode is set. A pointer that is kept in stack mode is read after
// its memory has been freed, and a frame that isn't released in heap mode leaks. Here a callback borrows its frame in
// both modes. Code that keeps a frame without retaining it doesn't compile, and Swift releases retained frames.

private final class HeapDelegate: RawDataDelegate {
    private let kept = Mutex<[(isShare: Bool, frame: OwnedVideoFrame)]>([])

    // With heap mode, any number of frames may be retained.
    func received(_ rawData: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        let frame = try rawData.retain()
        kept.withLock { $0.append((pipe.kind == .share, frame)) }
    }

    func frames(ofShare isShare: Bool) -> [OwnedVideoFrame] {
        kept.withLock { kept in kept.filter { $0.isShare == isShare }.map(\.frame) }
    }
}

/// Keeps the sound of the session.
private final class HeapSpeaker: VirtualSpeaker, Sendable {
    private let kept = Mutex<[OwnedAudioFrame]>([])

    func mixedAudioReceived(_ rawData: borrowing AudioFrame) throws {
        let block = try rawData.retain()
        kept.withLock { $0.append(block) }
    }

    var blocks: [OwnedAudioFrame] { kept.withLock { $0 } }
}

extension Sample {
    static let zoomMemoryMode = Sample(
        name: "zoom-memory-mode",
        summary: "heap-based memory for video, share and audio, read after the session has been released"
    ) { frames in
        let (delegate, speaker) = (HeapDelegate(), HeapSpeaker())
        do {
            let call = try await Call(
                alice: {
                    $0.externalVideoSource = Camera()
                    $0.virtualAudioMic = MyVirtualMic()
                },
                bob: { initParams in
                    // Set audio memory mode to heap.
                    initParams.audioMemoryMode = .heap
                    // Set video memory mode to heap.
                    initParams.videoMemoryMode = .heap
                    // Set share memory mode to heap.
                    initParams.shareMemoryMode = .heap
                    initParams.virtualAudioSpeaker = speaker
                })
            try await call.alice.shareHelper.startSharing(MyShareSource())
            while try !call.user.isSending(.share) { try await Task.sleep(for: .milliseconds(5)) }
            try call.user.videoPipe.subscribe(delegate, resolution: .p720)
            try call.user.sharePipe.subscribe(delegate, resolution: .p720)
            while delegate.frames(ofShare: false).count < frames || delegate.frames(ofShare: true).count < frames
                || speaker.blocks.count < frames
            {
                try await Task.sleep(for: .milliseconds(5))
            }
            await call.leave()
        }
        // Retained frames stay valid and unchanged after their session has been released.
        let video = try delegate.frames(ofShare: false).prefix(frames).map {
            "video: first luma \(try $0.packedBytes()[0])"
        }
        let share = delegate.frames(ofShare: true).prefix(frames).map { "share: \($0.width)×\($0.height)" }
        return video + share + ["audio: \(Set(try speaker.blocks.flatMap { try $0.samples() }).count > 0)"]
    }
}
