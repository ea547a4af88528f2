import Foundation
import GStreamer
import Glibc
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

/// Tests files that block: FIFOs that nobody reads or writes.
@Suite struct BlockedFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(
        "GR-12 a FIFO that nobody reads holds up neither a start nor a stop", .timeLimit(.minutes(10)),
        arguments: [
            "rawdatapipe handler=y4m options=location=", "rawdatapipe handler=framemd5 options=location=",
            "filesink location=",
        ], [false, true])
    func fifo(sink: String, isOpened: Bool) async throws {
        let path = folder.file("fifo")
        #expect(mkfifo(path, 0o600) == 0)
        // Opened, but never read.
        let reader = isOpened ? open(path, O_RDONLY | O_NONBLOCK) : -1
        defer { if reader >= 0 { close(reader) } }
        let graph = try Graph(
            "videotestsrc is-live=true ! video/x-raw,format=I420,width=320,height=240 ! \(sink)\(path)")
        let start = Task { try await graph.start() }
        try await Task.sleep(for: .seconds(1))
        await graph.stop()
        _ = await start.result
    }

    @Test("RP-9 an interrupted writer keeps what its reader hasn't taken, and writes it in order")
    func interruptedWriter() throws {
        let path = folder.file("fifo")
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let interruption = Interruption()
        let writer = try ByteWriter(path: path, option: "o", capacity: 0, interruption: interruption)
        interruption.set(true)
        let frame = [UInt8](repeating: 7, count: 100_000)
        try writer.write(frame.span)
        interruption.set(false)
        var (read, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while read.count < frame.count {
            let count = Glibc.read(reader, &buffer, buffer.count)
            if count > 0 { read += buffer[..<count] } else { try writer.write([UInt8]().span) }
        }
        #expect(read == frame)
    }
}
