import MediaGraph
import Synchronization

/// The lines that a sample's callbacks add, from any thread.
final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    var all: [String] { lines.withLock { $0 } }

    /// Returns the lines about one node. Nodes of several streams are called at the same time, so their lines are
    /// interleaved.
    func about(_ node: String) -> [String] { all.filter { $0.hasPrefix("\(node): ") } }
}

extension VideoFrame {
    var sizeAndFormat: String { "\(width)×\(height) \(format.gstreamerName)" }
}

/// Runs a source until a pipe has delivered `count` of its frames, and returns a line for each.
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
