import GStreamer
import MediaGraph
import MediaGraphTesting

/// Runs a description to its end. Returns the error's text, or `nil` if there was no error.
func failure(of description: String) async throws -> String? {
    do {
        let graph = try Graph(description)
        try await graph.run()
        return nil
    } catch {
        return "\(error)"
    }
}

/// Runs packed frames through `nodes` and returns the resulting frames in the same format.
func process(
    _ frames: [[UInt8]], _ format: VideoFormat, width: Int, height: Int, range: Colorimetry.Range = .limited,
    through nodes: String
) async throws -> [[UInt8]] {
    let nick = [VideoFormat.i422: "I422", .rgb24: "RGB24", .bgr24: "BGR24"][format] ?? format.gstreamerName
    let graph = try Graph("videosource name=in pace=fast ! \(nodes) ! rawdatapipe name=out format=\(nick)")
    let frames = frames.map {
        TestFrame(FrameFormat(format, range: range), width: width, height: height, bytes: $0)
    }
    let collector = FrameCollector()
    try graph.videoSource("in").attach(FrameListSource(frames))
    try graph.rawDataPipe("out").attach(collector)
    try await graph.run()
    return collector.frames.map(\.bytes)
}
