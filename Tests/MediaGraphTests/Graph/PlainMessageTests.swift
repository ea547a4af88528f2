import GStreamer
import TestSupport
import Testing

@testable import MediaGraph

/// Tests the clearer messages that replace vague ones of stock elements.
@Suite struct PlainMessageTests {
    @Test("GR-3 a server that refuses the connection is reported with its address", .timeLimit(.minutes(10)))
    func refused() async throws {
        // No server listens on this port.
        let address = "http://127.0.0.1:9/a.mp4"
        let graph = try Graph("souphttpsrc name=s location=\(address) ! fakesink")
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect(
            "\(try #require(error))"
                == "s (souphttpsrc): can't read \(address): check the address, and that its server answers")
    }

    @Test("GR-3 an element that finds no camera is reported with the picture that it sends instead")
    func noCamera() async throws {
        let graph = try Graph("autovideosrc name=s filter-caps=video/x-nothing ! fakesink")
        let events = graph.events
        try? await graph.start()
        await graph.stop()
        var warnings: [String] = []
        for await case .warning(let warning) in events where warning.element == "s" { warnings.append("\(warning)") }
        let text =
            "s (autovideosrc): no camera works here: a test picture is sent instead; `mediagraph doctor` says why"
        #expect(warnings.count == 1 && warnings[0].hasPrefix(text), "\(warnings)")
    }
}
