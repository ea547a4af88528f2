import MediaGraph
import Synchronization

/// The sharpest frame of a video file.
public struct SharpestFrame: Sendable {
    /// The frame, still in the decoder's buffer.
    public let frame: OwnedVideoFrame
    /// The frame's number in the file, from 0.
    public let index: Int
    /// The variance of the frame's Laplacian.
    public let sharpness: Double

    /// Reads the whole file and returns its sharpest frame; `nil` if the file has no frames. Throws the graph's error.
    ///
    /// ```
    /// filesrc → decodebin → rawdatapipe → closure that measures each borrowed frame, and retains the best so far
    /// ```
    ///
    /// - Parameters:
    ///   - path: the video file.
    ///   - progress: called a few times a second with the number of frames that have been read, and with the fraction
    ///     of the file that has been read, or `nil` if its length is unknown.
    public static func find(
        in path: String, progress: @escaping @Sendable (_ frames: Int, _ part: Double?) -> Void = { _, _ in }
    ) async throws -> SharpestFrame? {
        // The path is a variable in quotes, because it may contain spaces, quotes and exclamation marks. Sound isn't
        // decoded. The pipe doesn't wait for the clock, takes frames as fast as they are decoded, and loses none.
        let graph = try Graph(
            """
            filesrc location="${FILE}" ! decodebin expose-all-streams=false caps="video/x-raw(ANY)" !
                rawdatapipe name=frames format=I420 sync=false backpressure=block
            """,
            variables: ["FILE": path])

        let search = Search()
        // Called on the streaming thread, one frame at a time. `frame` can't leave the closure. `retain` returns a
        // frame that can: it keeps the decoder's buffer instead of a copy.
        try graph.rawDataPipe("frames").receive { frame in
            try search.consider(frame)
        }

        let reports = Task {
            while !Task.isCancelled {
                let part = graph.position.flatMap { position in
                    graph.duration.map { position.seconds / ($0 / .seconds(1)) }
                }
                progress(search.frames, part)
                try await Task.sleep(for: .milliseconds(200))
            }
        }
        defer { reports.cancel() }
        try await graph.run()
        return search.best
    }
}

/// The best frame so far, written by the streaming thread and read by the tasks.
private final class Search: Sendable {
    private let state = Mutex<(frames: Int, best: SharpestFrame?)>((0, nil))

    var frames: Int { state.withLock { $0.frames } }
    var best: SharpestFrame? { state.withLock { $0.best } }

    func consider(_ frame: borrowing VideoFrame) throws {
        let sharpness = try frame.plane(.y).sharpness()
        let isBest = state.withLock { sharpness > $0.best?.sharpness ?? -1 }
        let best = isBest ? try frame.retain() : nil
        state.withLock { state in
            if let best { state.best = SharpestFrame(frame: best, index: state.frames, sharpness: sharpness) }
            state.frames += 1
        }
    }
}
