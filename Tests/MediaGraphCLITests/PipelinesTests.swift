import Foundation
import TestSupport
import Testing

/// What is in Pipelines/, run as CI does: but for those that play on a sound system, or beside which another program plays or
/// listens, in real time, which the other tests would disturb. CI runs these by themselves.
@Suite struct PipelinesTests {
    @Test("GR-7 every description in Pipelines/ says what it shows and needs, and runs")
    func run() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appendingPathComponent("Pipelines")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).filter {
            guard $0.pathExtension == "pipeline" else { return false }
            let text = try String(contentsOf: $0, encoding: .utf8)
            return !text.contains("\n# meanwhile: ") && !text.contains("$SOUND_DIR")
        }
        #expect(files.count > 10)
        let child = try ChildProcess.run(
            root.appendingPathComponent("scripts/test-pipelines").path, files.map(\.path),
            environment: [
                "MEDIAGRAPH": ChildProcess.buildFolder.appendingPathComponent("mediagraph").path,
                // Of some 75 windows: the other tests keep the machine busy. CI runs the descriptions by themselves too.
                "CHECK_TONE_TORN": "30",
            ],
            timeout: 300)
        #expect(
            child.status == 0,
            "\(child.errors.split(separator: "\n").filter { $0.contains("FAILED") })\n\(child.errors.suffix(4000))")
        #expect(child.output.contains("descriptions ran"))
    }
}
