import MediaGraph

/// A sample: a graph with one place for code, and that code.
struct Sample: Sendable {
    let name: String
    let summary: String
    /// Runs it until `frames` frames have come, and gives a line for each.
    let run: @Sendable (_ frames: Int) async throws -> [String]

    static let all = [zoomSourceTask, zoomSourceThread]
}

@main
struct Ported {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let name = arguments.first, let sample = Sample.all.first(where: { $0.name == name }) else {
            print("usage: Ported SAMPLE [FRAMES]")
            for sample in Sample.all { print("  \(sample.name)  \(sample.summary)") }
            return
        }
        for line in try await sample.run(arguments.dropFirst().first.flatMap { Int($0) } ?? 30) { print(line) }
    }
}

/// What the documents' `captureNextFrame()` stands for: here a moving gradient.
struct CapturedFrame: Sendable {
    let buffer: [UInt8]
    let width = 320
    let height = 180
    let rotation = Rotation.none
    let format = FrameFormat.i420
    var length: Int { buffer.count }

    init(number: Int) {
        let luma = (0..<320 * 180).map { UInt8(truncatingIfNeeded: $0 % 320 + number * 2) }
        buffer = luma + [UInt8](repeating: 128, count: 320 * 180 / 2)
    }
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
