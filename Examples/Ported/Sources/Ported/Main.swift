import MediaGraph

/// A sample: the code of a document, in a session.
package struct Sample: Sendable {
    package let name: String
    let summary: String
    /// Runs the sample for `frames` frames of each stream, and returns a line for each call that its code received.
    package let run: @Sendable (_ frames: Int) async throws -> [String]

    package static let all = [
        zoomSourceTask, zoomSourceThread, zoomPreProcessor, zoomMemoryMode, zoomRawDataPipe, zoomPixelBuffer,
        zoomAlphaChannel, zoomVirtualMic, zoomVirtualMicThread, zoomVirtualMicExample, zoomVirtualSpeaker,
        zoomShareSource, zoomShareSourceThread, zoomShareSourceExample, zoomSession, zegoCustomRender,
        agoraFrameObserver,
    ]
}

@main
struct Ported {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let frames = arguments.dropFirst().first.map { Int($0) ?? 0 } ?? 30
        guard let name = arguments.first, let sample = Sample.all.first(where: { $0.name == name }), frames > 0 else {
            print("usage: Ported SAMPLE [FRAMES]")
            for sample in Sample.all { print("  \(sample.name)  \(sample.summary)") }
            return
        }
        for line in try await sample.run(frames) { print(line) }
    }
}
