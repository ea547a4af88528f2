import Foundation
import TestSupport
import Testing

/// What is in Pipelines/, run as CI does.
@Suite struct PipelinesTests {
    @Test("GR-7 every description in Pipelines/ says what it shows and needs, and runs")
    func run() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let child = try ChildProcess.run(
            root.appendingPathComponent("scripts/test-pipelines").path, [],
            environment: ["MEDIAGRAPH": ChildProcess.buildFolder.appendingPathComponent("mediagraph").path],
            timeout: 300)
        #expect(child.status == 0, "\(child.output.suffix(2000))\n\(child.errors.suffix(4000))")
        #expect(child.output.contains("descriptions ran"))
    }
}
