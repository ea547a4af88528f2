import MediaGraph

// Ported from the Zoom Video SDK's "Raw data": the memory modes in ZoomVideoSDKInitParams (videoRawdataMemoryMode and
// shareRawdataMemoryMode; audio has no pipe).
//
// Faults of the original: the mode is chosen once, before the receivers are known, and a callback can't tell which mode
// is set. A pointer that is kept in stack mode is read after its memory has been freed, and a frame that isn't released
// in heap mode leaks. Here each pipe has its own `memory-mode`. Code that keeps a borrowed frame doesn't compile, and
// Swift releases owned frames. A receiver that contradicts the mode is refused when it is attached.

extension Sample {
    static let zoomMemoryMode = Sample(
        name: "zoom-memory-mode",
        summary: "heap-based memory for video and share, read after the graph has been released"
    ) { frames in
        let lines = Lines()
        var kept: [(pipe: String, frames: [OwnedVideoFrame])] = []
        do {
            let graph = try Graph(
                """
                videosource name=user pace=fast ! rawdatapipe name=video memory-mode=heap
                videosource name=screen pace=fast ! rawdatapipe name=share memory-mode=heap
                """)
            try graph.videoSource("user").attach(Camera(frames: frames))
            try graph.videoSource("screen").attach(Camera(frames: frames))
            // A closure that borrows its frames needs memory-mode=stack, so this one is refused.
            do { try graph.rawDataPipe("video").receive { _ in } } catch { lines.add("refused: \(error)") }
            let video = try graph.rawDataPipe("video").frames
            let share = try graph.rawDataPipe("share").frames
            try await graph.start()
            async let videoFrames = collect(video)
            async let shareFrames = collect(share)
            kept = try await [("video", videoFrames), ("share", shareFrames)]
            await graph.stop()
        }
        // Owned frames stay valid and unchanged after their pipe has been released.
        for (pipe, frames) in kept {
            for frame in frames { lines.add("\(pipe): first luma \(try frame.packedBytes()[0])") }
        }
        return lines.all
    }

    private static func collect(_ frames: FrameSequence<OwnedVideoFrame>) async throws -> [OwnedVideoFrame] {
        var all: [OwnedVideoFrame] = []
        for try await frame in frames { all.append(frame) }
        return all
    }
}
