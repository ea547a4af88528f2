import Foundation
import MediaGraph
import SharpestFrame
import Synchronization
import Testing

@Suite struct SharpestFrameTests {
    /// Makes a file with one sharp frame among smooth ones, and returns its path.
    private func makeVideo(sharp: Int, frames: Int = 60) async throws -> String {
        // A name that needs quotes in a description.
        let path = NSTemporaryDirectory() + "it's \"one\" ! of \(UUID().uuidString).mkv"
        let graph = try Graph(
            """
            videotestsrc num-buffers=${FRAMES} ! video/x-raw,format=I420,width=160,height=120,framerate=30/1 !
                preprocessor name=paint ! vp8enc deadline=1 ! matroskamux ! filesink location="${FILE}"
            """,
            variables: ["FRAMES": "\(frames)", "FILE": path])
        let count = Atomic(0)
        try graph.preprocessor("paint").process { frame in
            let index = count.add(1, ordering: .relaxed).oldValue
            var luma = try frame.mutablePlane(.y)
            for y in 0..<luma.height {
                var row = luma.row(y)
                for x in row.indices {
                    // A chessboard with squares of eight pixels, or a moving gradient.
                    row[x] = index == sharp ? ((x / 8 + y / 8) % 2 == 0 ? 40 : 200) : UInt8(40 + (x + y + index) / 4)
                }
            }
            return .pass
        }
        try await graph.run()
        return path
    }

    @Test("the only sharp frame is found at any position", arguments: [0, 39, 59])
    func findsTheSharpFrame(sharp: Int) async throws {
        let path = try await makeVideo(sharp: sharp)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let found = try #require(try await SharpestFrame.find(in: path))
        #expect(found.index == sharp)
        #expect(found.frame.presentationTimestamp.map { ($0.seconds * 30).rounded() } == Double(sharp))
        // The retained frame still has its chessboard after the graph has been released.
        let bytes = try found.frame.packedBytes()
        #expect(abs(Int(bytes[4 * 160 + 12]) - 200) < 20 && abs(Int(bytes[4 * 160 + 4]) - 40) < 20)
        #expect(try found.frame.png().starts(with: [0x89, 0x50, 0x4E, 0x47]))
    }

    @Test("a file that isn't a video is an error")
    func noVideo() async throws {
        let path = NSTemporaryDirectory() + "\(UUID().uuidString).mkv"
        try Data("no video".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        await #expect(throws: GraphError.self) { try await SharpestFrame.find(in: path) }
    }
}
