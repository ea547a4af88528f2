import MediaGraph
import Synchronization

// Ported from the Zoom Video SDK's "Raw data": the memory modes in ZoomVideoSDKInitParams (videoRawdataMemoryMode,
// shareRawdataMemoryMode and audioRawdataMemoryMode, all heap), and a delegate that keeps what it receives.
//
// Faults of the original: the mode is chosen once, before the receivers are known, and a callback can't tell which mode
// is set. A pointer that is kept in stack mode is read after its memory has been freed, and a frame that isn't released
// in heap mode leaks. Here each node has its own `memory-mode`, and a callback borrows its frame in both modes. Code that
// keeps a frame without retaining it doesn't compile, and Swift releases retained frames.

private final class HeapDelegate: RawDataDelegate {
    private let kept = Mutex<[(pipe: String, frame: OwnedVideoFrame)]>([])

    // With memory-mode=heap, any number of frames may be retained.
    func received(_ rawData: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        let frame = try rawData.retain()
        kept.withLock { $0.append((pipe.name, frame)) }
    }

    func frames(of pipe: String) -> [OwnedVideoFrame] {
        kept.withLock { kept in kept.filter { $0.pipe == pipe }.map(\.frame) }
    }
}

/// Keeps the sound of a speaker.
private final class KeptSound: Sendable {
    private let kept = Mutex<[OwnedAudioFrame]>([])

    func add(_ block: OwnedAudioFrame) { kept.withLock { $0.append(block) } }

    var all: [OwnedAudioFrame] { kept.withLock { $0 } }
}

extension Sample {
    static let zoomMemoryMode = Sample(
        name: "zoom-memory-mode",
        summary: "heap-based memory for video, share and audio, read after the graph has been released"
    ) { frames in
        let (delegate, sound) = (HeapDelegate(), KeptSound())
        do {
            let graph = try Graph(
                """
                videosource name=user pace=fast ! rawdatapipe name=video memory-mode=heap
                videosource name=screen pace=fast ! rawdatapipe name=share memory-mode=heap
                audiotestsrc wave=silence num-buffers=\(frames) ! virtualspeaker name=audio memory-mode=heap
                """)
            for source in ["user", "screen"] { try graph.videoSource(source).attach(Camera(frames: frames)) }
            for pipe in ["video", "share"] { try graph.rawDataPipe(pipe).subscribe(delegate, resolution: .p720) }
            try graph.virtualSpeaker("audio").receive { rawData, _ in sound.add(try rawData.retain()) }
            try await graph.run()
        }
        // Retained frames stay valid and unchanged after their graph has been released.
        let lines = Lines()
        for pipe in ["video", "share"] {
            for frame in delegate.frames(of: pipe) {
                lines.add("\(pipe): first luma \(try frame.packedBytes()[0])")
            }
        }
        lines.add("audio: the samples are \(Set(try sound.all.flatMap { try $0.samples() }))")
        return lines.all
    }
}
