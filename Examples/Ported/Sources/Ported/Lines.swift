import MediaGraph
import Synchronization

/// What a sample's calls, on whatever threads, were told.
final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    var all: [String] { lines.withLock { $0 } }

    /// Those about one node: nodes of several streams are called at the same time.
    func about(_ node: String) -> [String] { all.filter { $0.hasPrefix("\(node): ") } }
}

extension VideoFrame {
    var sizeAndFormat: String { "\(width)×\(height) \(format.gstreamerName)" }
}

/// Runs a source until `count` of its frames have come out of a pipe.
func receive(_ count: Int, from source: some VideoSource) async throws -> [String] {
    let graph = try Graph("videosource name=source ! rawdatapipe name=pipe")
    try graph.videoSource("source").attach(source)
    let frames = try graph.rawDataPipe("pipe").frames
    try await graph.start()
    var lines: [String] = []
    for try await frame in frames.prefix(count) {
        lines.append(
            "\(frame.width)×\(frame.height) \(frame.format.gstreamerName), first luma \(try frame.packedBytes()[0])")
    }
    await graph.stop()
    return lines
}
