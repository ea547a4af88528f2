import Foundation
import TestSupport
import Testing

/// Runs the descriptions in Pipelines/ as CI does. Skips those that use a sound system or another program in real time,
/// which other tests would disturb. CI runs the skipped ones separately.
@Suite struct PipelinesTests {
    @Test("GR-7 every description in Pipelines/ documents what it shows and needs, and runs")
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
                // Tolerates 30 of about 75 torn windows of sound, because other tests keep the machine busy. CI also
                // runs the descriptions separately.
                "CHECK_TONE_TORN": "30",
            ],
            timeout: 300)
        #expect(
            child.status == 0,
            "\(child.errors.split(separator: "\n").filter { $0.contains("FAILED") })\n\(child.errors.suffix(4000))")
        #expect(child.output.contains("descriptions ran"))
    }
}
