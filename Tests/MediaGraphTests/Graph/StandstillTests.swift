import TestSupport
import Testing

@testable import MediaGraph

/// Graphs in which a sink gets nothing.
@Suite struct StandstillTests {
    /// What a graph that doesn't start says of itself, as soon as it has found an explanation.
    private func standstills(of text: String) async throws -> [Standstill] {
        let graph = try Graph(text)
        let start = Task { try await graph.start() }
        #expect(try await eventually { graph.standstills.contains(where: \.isExplained) }, "\(graph.standstills)")
        let found = graph.standstills.filter(\.isExplained)
        await graph.stop()
        await #expect(throws: GraphError.self) { try await start.value }
        return found
    }

    @Test("GR-12 a closed valve is named, with the sink behind it", arguments: ["", "videoconvert ! matroskamux ! "])
    func valve(between: String) async throws {
        let found = try await standstills(
            of: "videotestsrc ! tee name=t t. ! queue ! valve name=v drop=true ! \(between)fakesink name=a "
                + "t. ! queue ! fakesink name=b")
        #expect(found == [Standstill(sink: "a", cause: .closedValve("v"))])
        #expect(
            found.first?.description
                == "a has had no first buffer: v is closed. Set drop=false on it, or async=false on a where the rest is to "
                + "play without")
    }

    @Test("GR-12 a muxer that waits for one of its streams: what holds that one up is found")
    func muxer() async throws {
        let found = try await standstills(
            of: "audiotestsrc ! vorbisenc ! m. videotestsrc ! valve name=v drop=true ! vp8enc ! m. "
                + "matroskamux name=m ! fakesink name=a")
        #expect(found == [Standstill(sink: "a", cause: .closedValve("v"))])
    }

    @Test("GR-12 a queue that another branch's encoder has filled is named, with its level, the encoder and remedies")
    func fullQueue() async throws {
        let found = try await standstills(
            of: "videotestsrc ! tee name=t t. ! queue ! x264enc name=e ! fakesink name=a "
                + "t. ! queue name=q max-size-buffers=5 ! fakesink name=b")
        guard case .fullQueue(let queue, let level, let holder, let encoder) = found.first?.cause else {
            Issue.record("\(found)")
            return
        }
        #expect(found.map(\.sink) == ["a"] && queue == "q" && level.hasPrefix("5 buffers") && holder == "b")
        #expect(encoder == Standstill.Encoder(name: "e", remedy: "tune=zerolatency"))
        let text = found[0].description
        #expect(
            text.contains("q in another branch is full (5 buffers, 0.1 s), since b waits for the graph to play"),
            "\(text)")
        #expect(text.contains("tune=zerolatency on e") && text.contains("async=false on a"), "\(text)")
    }

    @Test("GR-12 what it says to write makes the graph play")
    func remedies() async throws {
        for (encoder, queue, sink) in [
            ("tune=zerolatency", "", ""), ("", "max-size-time=0 max-size-buffers=0 max-size-bytes=0", ""),
            ("", "", "async=false"),
        ] {
            let graph = try Graph(
                "videotestsrc num-buffers=90 ! video/x-raw,framerate=30/1 ! tee name=t "
                    + "t. ! queue ! x264enc \(encoder) ! fakesink name=a sync=false \(sink) "
                    + "t. ! queue \(queue) ! fakesink name=b sync=false")
            guard case .endOfStream = try await graph.run() else {
                Issue.record("\(encoder) \(queue) \(sink)")
                continue
            }
        }
    }

    @Test("GR-12 a sink that keeps the thread of a tee without queues is named")
    func sharedThread() async throws {
        let found = try await standstills(of: "videotestsrc ! tee name=t t. ! fakesink name=a t. ! fakesink name=b")
        #expect(found == [Standstill(sink: "b", cause: .sharedThread(splitter: "t", heldBy: "a"))])
    }

    @Test("GR-12 a webrtcbin without a peer is told, live or not", arguments: [true, false])
    func webRTC(isLive: Bool) async throws {
        let graph = try Graph(
            "videotestsrc is-live=\(isLive) num-buffers=2 ! vp8enc ! rtpvp8pay ! "
                + "application/x-rtp,media=video,encoding-name=VP8,payload=96 ! webrtcbin name=w")
        let start = Task { try await graph.start() }
        #expect(try await eventually { graph.standstills == [Standstill(sink: "w", cause: .noPeer)] })
        try await start.value
        await graph.stop()
    }

    @Test("GR-12 a graph in which everything flows has none, a sink that is still to get something has no explanation")
    func flowing() async throws {
        let graph = try Graph("videotestsrc is-live=true ! fakesink appsrc ! fakesink name=a")
        try await graph.start()
        #expect(try await eventually { graph.standstills.count == 1 })
        #expect(graph.standstills == [Standstill(sink: "a", cause: .unknown)])
        #expect(graph.standstills.first?.description == "a has had no first buffer")
        await graph.stop()
    }

    @Test("GR-12 a graph whose sink keeps the source's thread can be ended and stopped")
    func stop() async throws {
        let graph = try Graph("videotestsrc ! tee name=t t. ! fakesink t. ! fakesink")
        let start = Task { try await graph.start() }
        #expect(try await eventually { !graph.standstills.isEmpty })
        // Its source can't take it.
        graph.requestEndOfStream()
        await graph.stop()
        await #expect(throws: GraphError.self) { try await start.value }
    }

    @Test("GR-2 what keeps a graph from playing is warned of where the text tells it")
    func check() throws {
        func warnings(_ text: String) throws -> [String] {
            try Graph.diagnose(Description(text)).map { "\($0.severity): \($0.message)" }
        }
        let tee = "tee name=t t. ! queue !"
        #expect(
            try warnings("videotestsrc ! \(tee) valve drop=true ! fakesink t. ! queue ! fakesink") == [
                "warning: valve is closed: the graph plays once fakesink has its first buffer"
            ])
        #expect(
            try warnings(
                "videotestsrc ! \(tee) x264enc ! fakesink t. ! queue name=q ! rawdatapipe sync=true handler=count")
                == [
                    "warning: x264enc takes in some 40 frames before it gives any, and queue \"q\" in another branch of "
                        + "tee \"t\" may be full before that: then the graph never plays"
                ])
        for fine in [
            "videotestsrc is-live=true ! \(tee) valve drop=true ! fakesink t. ! queue ! fakesink",
            "videotestsrc ! \(tee) valve drop=true ! fakesink async=false t. ! queue ! fakesink",
            "videotestsrc ! \(tee) valve ! fakesink t. ! queue ! fakesink",
            "videotestsrc ! \(tee) x264enc tune=zerolatency ! fakesink t. ! queue ! fakesink",
            "videotestsrc ! \(tee) x264enc ! fakesink t. ! queue max-size-time=0 ! fakesink",
            "videotestsrc ! \(tee) x264enc ! fakesink async=false t. ! queue ! fakesink",
            "videotestsrc ! \(tee) x264enc ! fakesink t. ! queue ! rawdatapipe handler=count",
            "videotestsrc is-live=true ! \(tee) x264enc ! fakesink t. ! queue ! fakesink",
        ] {
            #expect(try warnings(fine) == [], "\(fine)")
        }
    }
}
