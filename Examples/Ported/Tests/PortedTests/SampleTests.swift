import Testing

@testable import Ported

@Suite struct SampleTests {
    @Test("VS-10 each ported sample runs and its frames come as it made them", arguments: Sample.all.map(\.name))
    func runs(name: String) async throws {
        let sample = try #require(Sample.all.first { $0.name == name })
        let lines = try await sample.run(5)
        #expect(lines.count == 5)
        // A live pipe may drop a frame on a busy machine: what came is in order, and starts with the first.
        #expect(lines.first == "320×180 I420, first luma 0")
        #expect(lines == lines.sorted { number($0) < number($1) })
    }

    private func number(_ line: String) -> Int { Int(line.split(separator: " ").last!)! }
}
