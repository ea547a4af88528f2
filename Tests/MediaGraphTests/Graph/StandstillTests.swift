import Synchronization
import TestSupport
import Testing

@testable import MediaGraph

/// Tests the explanations for sinks that get no data.
@Suite struct StandstillTests {
    /// Returns the explanations of a graph that doesn't start, as soon as one of them `isComplete`.
    private func standstills(
        of text: String, isComplete: @escaping @Sendable (StarvedSink) -> Bool = { $0.isPermanent }
    ) async throws -> [StarvedSink] {
        let graph = try Graph(text)
        let start = Task { try await graph.start() }
        // Keeps what was found: while the first events pass, another look may find nothing.
        var found: [StarvedSink] = []
        #expect(
            try await eventually {
                found = graph.starvedSinks
                return found.contains(where: isComplete)
            }, "\(found)")
        found = found.filter(\.isPermanent)
        await graph.stop()
        await #expect(throws: GraphError.self) { try await start.value }
        return found
    }

    @Test("GR-12 a closed valve is reported with the sink behind it", arguments: ["", "videoconvert ! matroskamux ! "])
    func valve(between: String) async throws {
        let found = try await standstills(
            of: "videotestsrc ! tee name=t t. ! queue ! valve name=v drop=true ! \(between)fakesink name=a "
                + "t. ! queue ! fakesink name=b")
        #expect(found == [StarvedSink(sink: "a", cause: .closedValve("v"))])
        #expect(
            found.first?.description
                == "a hasn't received any data: v is closed. Set drop=false on v; or, to play the other branches "
                + "without a, set async=false on a")
    }

    @Test(
        "GR-12 a sink that gets nothing while the graph plays is reported with the reason",
        arguments: [
            (
                "udpsrc name=u port=0 caps=application/x-rtp ! rtpvp8depay ! vp8dec ! fakesink name=a",
                "a hasn't received any data: u (udp://0.0.0.0:0) has sent nothing yet. Check that something sends to it"
            ),
            (
                "videotestsrc name=v is-live=true ! identity drop-probability=1.0 ! fakesink name=a",
                "a hasn't received any data: v sends data, but an element between them hasn't output any yet"
            ),
            (
                "audiotestsrc is-live=true ! vorbisenc ! m.audio_0 udpsrc name=u port=0 caps=video/x-vp8 ! m.video_0 "
                    + "matroskamux name=m ! fakesink",
                "m.video_0 hasn't received any data: u (udp://0.0.0.0:0) has sent nothing yet"
            ),
        ])
    func playing(text: String, explanation: String) async throws {
        let graph = try Graph(text)
        try await graph.start()
        #expect(
            try await eventually { graph.starvedSinks.contains { "\($0)".hasPrefix(explanation) } },
            "\(graph.starvedSinks)")
        await graph.stop()
    }

    @Test("GR-12 two elements without a common format are reported even if no element posts an error")
    func formatConflict() async throws {
        let folder = try TemporaryFolder()
        let picture = folder.file("a.jpg")
        try await Graph("videotestsrc num-buffers=1 ! jpegenc ! filesink location=\(picture)").run()
        let graph = try Graph(
            "multifilesrc location=\(picture) loop=true caps=image/jpeg,framerate=30/1 "
                + "! errorignore ignore-notnegotiated=true convert-to=ok ! jpegdec name=d ! videoconvert name=c "
                + "! video/x-raw,width=64 ! fakesink name=a")
        let run = Task { try await graph.run() }
        let explanation =
            "a hasn't received any data: d can't be linked to c: d produces width=320; c accepts width=64; put videoscale between them"
        #expect(
            try await eventually { graph.starvedSinks.map(\.description) == [explanation] }, "\(graph.starvedSinks)")
        #expect(graph.starvedSinks.allSatisfy { $0.isPermanent })
        await graph.stop()
        _ = try? await run.value
    }

    @Test("GR-12 an absent user isn't reported as a standstill")
    func absentUser() async throws {
        let graph = try Graph("mediasession name=s room=\(#function) user=alice s.video_bob ! fakesink")
        try await graph.start()
        #expect(graph.starvedSinks.allSatisfy { $0.cause == .unknown }, "\(graph.starvedSinks)")
        await graph.stop()
    }

    @Test("GR-12 reports don't name elements inside a node")
    func nodeParts() async throws {
        let found = try await standstills(
            of: "videotestsrc num-buffers=90 ! rawdatapipe name=p engine-render=true handler=count p.src ! x264enc "
                + "! fakesink name=a")
        #expect(found.map(\.cause) == [.sharedThread(splitter: nil, blockedBy: "p")])
        #expect(
            found.first?.description
                == "a hasn't received any data: p, which gets its data from the same thread, blocks that thread "
                + "until the graph plays. Set async=false on a")
    }

    @Test("GR-12 for a muxer that waits for one of its inputs, the cause upstream is reported")
    func muxer() async throws {
        let found = try await standstills(
            of: "audiotestsrc ! vorbisenc ! m. videotestsrc ! valve name=v drop=true ! vp8enc ! m. "
                + "matroskamux name=m ! fakesink name=a")
        #expect(found == [StarvedSink(sink: "a", cause: .closedValve("v"))])
    }

    @Test("GR-12 a queue that fills while another branch's encoder waits is reported with remedies")
    func fullQueue() async throws {
        let found = try await standstills(
            of: "videotestsrc ! tee name=t t. ! queue ! x264enc name=e ! fakesink name=a "
                + "t. ! queue name=q max-size-buffers=5 ! fakesink name=b"
        ) {
            // The queue may fill before the sink behind it gets its first buffer.
            if case .fullQueue(_, _, let holder, _) = $0.cause { holder != nil } else { false }
        }
        guard case .fullQueue(let queue, let level, let holder, let encoder) = found.first?.cause else {
            Issue.record("\(found)")
            return
        }
        #expect(found.map(\.sink) == ["a"] && queue == "q" && level == "5 buffers, 0.1 s" && holder == "b")
        #expect(encoder == StarvedSink.Encoder(name: "e", lowDelaySetting: "tune=zerolatency"))
        let text = found[0].description
        #expect(
            text.contains(
                "q in another branch is full (5 buffers, 0.1 s); b holds its data until the graph plays, and e needs"),
            "\(text)")
    }

    @Test("GR-12 each suggested remedy makes the graph play")
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

    @Test("GR-12 a sink that blocks the thread of a tee without queues is reported")
    func sharedThread() async throws {
        let found = try await standstills(of: "videotestsrc ! tee name=t t. ! fakesink name=a t. ! fakesink name=b")
        #expect(found == [StarvedSink(sink: "b", cause: .sharedThread(splitter: "t", blockedBy: "a"))])
    }

    @Test("GR-12 a rawdatapipe that blocks the thread of a tee is reported")
    func heldByPipe() async throws {
        let found = try await standstills(
            of: "videotestsrc ! tee name=t ! queue ! x264enc ! fakesink name=a t. ! rawdatapipe name=p handler=count")
        #expect(found == [StarvedSink(sink: "a", cause: .sharedThread(splitter: "t", blockedBy: "p"))])
    }

    @Test("GR-12 a file that a demuxer pulls from isn't reported as silent")
    func pulled() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("a.mkv")
        try await Graph("videotestsrc num-buffers=30 ! vp8enc ! matroskamux ! filesink location=\(file)").run()
        let graph = try Graph(
            "filesrc location=\(file) ! matroskademux ! m.video_0 udpsrc name=u port=0 caps=audio/x-raw,rate=8000,channels=1,format=S16LE,layout=interleaved ! audioconvert ! vorbisenc ! m.audio_0 matroskamux name=m ! fakesink name=a"
        )
        try await graph.start()
        #expect(
            try await eventually {
                graph.starvedSinks.contains { "\($0)".contains("u (udp://0.0.0.0:0) has sent nothing") }
            })
        #expect(!graph.starvedSinks.contains { "\($0)".contains("filesrc") }, "\(graph.starvedSinks)")
        await graph.stop()
    }

    @Test("GR-12 a webrtcbin without a peer is reported, live or not", arguments: [true, false])
    func webRTC(isLive: Bool) async throws {
        let graph = try Graph(
            "videotestsrc is-live=\(isLive) num-buffers=2 ! vp8enc ! rtpvp8pay ! "
                + "application/x-rtp,media=video,encoding-name=VP8,payload=96 ! webrtcbin name=w")
        let start = Task { try await graph.start() }
        #expect(
            try await eventually {
                graph.starvedSinks == [StarvedSink(sink: "w", cause: .noPeer, isGraphPlaying: true)]
            })
        try await start.value
        await graph.stop()
    }

    @Test("GR-12 a udpsink that has nobody to send to is reported while the graph runs")
    func noReceiver() async throws {
        // Without clients, as when no host name could be resolved.
        let graph = try Graph("videotestsrc is-live=true ! udpsink name=u clients=\"\"")
        try await graph.start()
        #expect(
            try await eventually {
                graph.starvedSinks == [StarvedSink(sink: "u", cause: .noReceiver, isGraphPlaying: true)]
            })
        await graph.stop()
    }

    @Test("GR-12 a graph without waiting sinks reports none, and a waiting sink is reported with its source")
    func flowing() async throws {
        let graph = try Graph("videotestsrc is-live=true ! fakesink appsrc name=appsrc0 ! fakesink name=a")
        try await graph.start()
        #expect(try await eventually { graph.starvedSinks.count == 1 })
        let cause = StarvedSink.Cause.silentSource("appsrc0", address: nil)
        #expect(graph.starvedSinks == [StarvedSink(sink: "a", cause: cause, isGraphPlaying: true)])
        await graph.stop()
    }

    @Test(
        "GR-12 a source that sends nothing and keeps a graph from starting is reported with its address",
        arguments: ["", "decodebin !"])
    func silentSource(decoder: String) async throws {
        let graph = try Graph("tcpserversrc name=s port=0 ! \(decoder) fakesink name=a")
        let start = Task { try await graph.start() }
        let cause = StarvedSink.Cause.silentSource("s", address: "localhost:0")
        #expect(
            try await eventually { graph.starvedSinks == [StarvedSink(sink: "a", cause: cause)] },
            "\(graph.starvedSinks)")
        await graph.stop()
        _ = try? await start.value
    }

    @Test(
        "GR-12 in a playing live graph, full queues are no cause, and sinks with async=false aren't reported"
    )
    func livePlaying() async throws {
        let graph = try Graph(
            "videotestsrc is-live=true ! tee name=t t. ! queue ! valve name=v drop=true ! fakesink name=a "
                + "t. ! queue ! valve drop=true ! fakesink name=b async=false "
                + "t. ! queue leaky=downstream max-size-buffers=1 ! identity sleep-time=50000 ! fakesink name=c async=false"
        )
        try await graph.start()
        #expect(try await eventually { !graph.isStarting && graph.starvedSinks.count == 1 })
        #expect(graph.starvedSinks == [StarvedSink(sink: "a", cause: .closedValve("v"), isGraphPlaying: true)])
        #expect(graph.starvedSinks.first?.description == "a hasn't received any data: v is closed. Set drop=false on v")
        await graph.stop()
    }

    @Test("GR-12 a source that can't end doesn't keep another source from ending")
    func endsOthers() async throws {
        let graph = try Graph(
            "videotestsrc ! tee name=t t. ! fakesink t. ! fakesink  audiotestsrc is-live=true ! fakesink name=s async=false"
        )
        let start = Task { try await graph.start() }
        let sink = try graph.element("s").staticPad("sink")!
        #expect(try await eventually { graph.progress.contains { $0.name == "s" && $0.counts.frames > 0 } })
        graph.requestEndOfStream()
        #expect(try await eventually { sink.hasEnded })
        await graph.stop()
        _ = try? await start.value
    }

    @Test("GR-12 a graph stops even if a source can't end yet, and can play again", arguments: [false, true])
    func stopBeforeEnd(isInBin: Bool) async throws {
        let text = "videotestsrc name=v ! video/x-raw,framerate=1/1000 ! fakesink name=s sync=true"
        let graph = try Graph(isInBin ? "( \(text) )" : text)
        try await graph.start()
        // The second frame waits in the sink for its time and blocks the source's thread.
        func isWaiting() -> Bool { graph.progress.contains { $0.name == "s" && $0.counts.frames == 2 } }
        #expect(try await eventually(isWaiting))
        let source = try graph.element("v")
        graph.requestEndOfStream()
        // The end of stream waits for the thread and holds the source's state lock.
        #expect(try await eventually { source.isChangingState })
        let isStopped = Mutex(false)
        let stop = Task {
            await graph.stop()
            isStopped.withLock { $0 = true }
        }
        try #require(try await eventually { isStopped.withLock { $0 } })
        await stop.value
        // The request doesn't affect the next run.
        try await graph.start()
        #expect(try await eventually(isWaiting))
        await graph.stop()
    }

    @Test("GR-12 a graph whose sink blocks the source's thread can be ended and stopped")
    func stop() async throws {
        let graph = try Graph("videotestsrc ! tee name=t t. ! fakesink t. ! fakesink")
        let start = Task { try await graph.start() }
        #expect(try await eventually { !graph.starvedSinks.isEmpty })
        // The source can't handle this request.
        graph.requestEndOfStream()
        await graph.stop()
        await #expect(throws: GraphError.self) { try await start.value }
    }

    @Test("GR-2 problems that keep a graph from playing are warnings if the description shows them")
    func check() throws {
        func warnings(_ text: String) throws -> [String] {
            try Graph.diagnose(Description(text)).map { "\($0.severity): \($0.message)" }
        }
        let tee = "video/x-raw,format=I420 ! tee name=t t. ! queue !"
        #expect(
            try warnings("videotestsrc ! \(tee) valve drop=true ! fakesink t. ! queue ! fakesink") == [
                "warning: valve is closed, so fakesink gets no data and the graph never plays"
            ])
        #expect(
            try warnings(
                "videotestsrc ! \(tee) x264enc ! fakesink t. ! queue name=q ! rawdatapipe sync=true handler=count")
                == [
                    "warning: x264enc needs many frames before it outputs one; queue \"q\" in another branch of "
                        + "tee \"t\" may fill up first, and then the graph never plays"
                ])
        for accepted in [
            "videotestsrc is-live=true ! \(tee) valve drop=true ! fakesink t. ! queue ! fakesink",
            "videotestsrc ! \(tee) valve drop=true ! fakesink async=false t. ! queue ! fakesink",
            "videotestsrc ! \(tee) valve ! fakesink t. ! queue ! fakesink",
            "videotestsrc ! \(tee) x264enc tune=zerolatency ! fakesink t. ! queue ! fakesink",
            "videotestsrc ! \(tee) x264enc ! fakesink t. ! queue max-size-time=0 ! fakesink",
            "videotestsrc ! \(tee) x264enc ! fakesink async=false t. ! queue ! fakesink",
            "videotestsrc ! \(tee) x264enc ! fakesink t. ! queue ! rawdatapipe handler=count",
            "videotestsrc is-live=true ! \(tee) x264enc ! fakesink t. ! queue ! fakesink",
            "videotestsrc ! \(tee) x264enc speed-preset=ultrafast ! fakesink t. ! queue ! fakesink",
            "videotestsrc ! \(tee) valve drop=true drop-mode=transform-to-gap ! fakesink t. ! queue ! fakesink",
        ] {
            #expect(try warnings(accepted) == [], "\(accepted)")
        }
    }
}
