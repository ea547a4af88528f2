import Foundation
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

@Suite struct GraphTests {
    private static let counter =
        "videosource name=src handler=counter pace=fast options=\"frames=30,width=64,height=32\""

    @Test("GR-6 nodes are looked up by name and type, and errors list the existing names")
    func lookUp() throws {
        let graph = try Graph("\(Self.counter) ! preprocessor name=mark ! rawdatapipe name=frames")
        #expect(try graph.preprocessor("mark").name == "mark")
        let missing = #expect(throws: GraphError.self) { try graph.preprocessor("mrk") }
        #expect("\(missing!)" == "no element is named \"mrk\"; named elements: frames, mark, src")
        let wrong = #expect(throws: GraphError.self) { try graph.preprocessor("frames") }
        #expect("\(wrong!)" == "\"frames\" is a rawdatapipe, not a preprocessor")
    }

    @Test("GR-6 a pipe's frames are an AsyncSequence with each frame in order, and then the end")
    func sequence() async throws {
        let graph = try Graph("\(Self.counter) ! rawdatapipe name=frames")
        let frames = try graph.rawDataPipe("frames").frames
        try await graph.start()
        var numbers: [UInt32] = []
        for try await frame in frames { numbers.append(try frame.withFrame { try FrameNumber.read($0) }) }
        #expect(numbers == Array(0..<30))
        await graph.stop()
    }

    @Test("GR-6 a frame sequence throws the graph's error instead of just ending")
    func sequenceError() async throws {
        struct Broken: Error {}
        let graph = try Graph("\(Self.counter) ! preprocessor name=p ! rawdatapipe name=frames")
        let count = Atomic<Int>(0)
        try graph.preprocessor("p").process { _ in
            if count.add(1, ordering: .relaxed).newValue > 5 { throw Broken() }
            return .pass
        }
        let frames = try graph.rawDataPipe("frames").frames
        try await graph.start()
        let error = await #expect(throws: GraphError.self) { for try await _ in frames {} }
        #expect("\(error!)".contains("Broken()"))
        await graph.stop()
    }

    @Test("GR-6 the graph goes on after a reader leaves its loop, and unread frames count as dropped")
    func leaving() async throws {
        let graph = try Graph("\(Self.counter) ! rawdatapipe name=frames")
        do {
            let frames = try graph.rawDataPipe("frames").frames
            try await graph.start()
            for try await _ in frames { break }
        }
        let end = try await graph.waitUntilEnd()
        guard case .endOfStream = end else {
            Issue.record("ended with \(end)")
            return
        }
        #expect(try graph.rawDataPipe("frames").statistics.dropped > 0)
        await graph.stop()
    }

    @Test("GR-6 an element's error ends the graph with the element's name and the reason")
    func elementError() async throws {
        let graph = try Graph("filesrc location=/nowhere/at/all ! decodebin ! fakesink")
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        guard case .failed(let failure)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure.factory == "filesrc" && failure.description.contains("No such file"), "\(failure)")
    }

    @Test("GR-6 a file without the expected video stream is reported")
    func audioOnly() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("sound.wav")
        try await Graph("audiotestsrc num-buffers=20 ! wavenc ! filesink location=\"\(file)\"").run()
        let graph = try Graph("filesrc location=\"\(file)\" ! decodebin ! videoconvert ! rawdatapipe handler=count")
        let events = graph.events
        guard case .endOfStream = try await graph.run() else {
            Issue.record("no end of stream")
            return
        }
        var reasons: [String] = []
        for await event in events { if case .missingStream(let missing) = event { reasons.append(missing.reason) } }
        #expect(
            reasons.count == 1 && reasons[0].hasPrefix("there is no video stream: decodebin")
                && reasons[0].contains(" produces audio/x-raw; "), "\(reasons)")
    }

    @Test("GR-6 a stopped graph can run again with the same handlers, but not twice at once")
    func again() async throws {
        let graph = try Graph("\(Self.counter) ! rawdatapipe name=frames")
        let seen = Log<UInt32>()
        try graph.rawDataPipe("frames").receive { seen.add(try FrameNumber.read($0)) }
        try await graph.run()
        try await graph.run()
        #expect(seen.all == Array(0..<30) + Array(0..<30))
        let live = try Graph("videosource handler=counter ! rawdatapipe handler=count")
        try await live.start()
        await #expect(throws: GraphError.self) { try await live.start() }
        await live.stop()
    }

    @Test("GR-6 every reader of a graph's events gets all of them, with `ended` as the last")
    func events() async throws {
        let graph = try Graph("\(Self.counter) ! rawdatapipe handler=count")
        let readers = (graph.events, graph.events)
        try await graph.run()
        func last(_ events: AsyncStream<GraphEvent>) async -> (Int, Bool) {
            var count = 0
            var isEnd = false
            for await event in events {
                count += 1
                if case .ended(.endOfStream) = event { isEnd = true }
            }
            return (count, isEnd)
        }
        let (first, second) = (await last(readers.0), await last(readers.1))
        #expect(first.1 && second.1)
        #expect(first.0 == second.0)
    }

    @Test(
        "GR-6 a graph that waits for input ends when that is requested",
        arguments: ["mediasession room=alone user=me", "virtualspeaker handler=count", "fakesink"])
    func endsWithoutSources(_ description: String) async throws {
        let graph = try Graph(description)
        // Readers get the events from now on.
        let events = graph.events
        let run = Task { try await graph.run() }
        // Nothing prerolls here, so the graph may stay in PAUSED.
        for await event in events { if case .stateChanged = event { break } }
        graph.requestEndOfStream()
        guard case .endOfStream = try await run.value else {
            Issue.record("no end of stream")
            return
        }
    }

    @Test("GR-6 cancelling the task that runs a graph stops it")
    func cancellation() async throws {
        let graph = try Graph("videosource handler=counter ! rawdatapipe name=p")
        let hasBegun = Atomic<Bool>(false)
        try graph.rawDataPipe("p").receive { _ in hasBegun.store(true, ordering: .relaxed) }
        let task = Task { try await graph.run() }
        #expect(try await eventually { hasBegun.load(ordering: .relaxed) })
        task.cancel()
        let end = try await task.value
        guard case .stopped = end else {
            Issue.record("ended with \(end)")
            return
        }
        #expect(graph.pipeline.state == .null)
    }

    @Test("GR-6 waiting readers don't block Swift's tasks, even if there are more than threads")
    func cooperative() async throws {
        let graphs = try (0..<16).map { _ in try Graph("videosource ! rawdatapipe name=frames") }
        let readers = try graphs.map { graph in
            let frames = try graph.rawDataPipe("frames").frames
            return Task { for try await _ in frames {} }
        }
        for graph in graphs { try await graph.start() }
        let beats = await withTaskGroup(of: Int.self) { group in
            for beat in 0..<100 {
                group.addTask {
                    await Task.yield(); return beat
                }
            }
            return await group.reduce(0) { sum, _ in sum + 1 }
        }
        #expect(beats == 100)
        for graph in graphs { await graph.stop() }
        for reader in readers { try await reader.value }
    }

    @Test(
        "EL-5 a graph can be stopped inside a handler of any kind",
        arguments: ["preprocessor", "pipe", "live pipe"])
    func stopInside(place: String) async throws {
        let source = place == "live pipe" ? "videosource handler=counter" : "videosource handler=counter pace=fast"
        let graph = try Graph("\(source) ! preprocessor name=p ! rawdatapipe name=pipe")
        let calls = Atomic<Int>(0)
        let stop: @Sendable () -> Void = { [weak graph] in
            calls.add(1, ordering: .relaxed)
            graph?.requestStop()
        }
        if place == "preprocessor" {
            try graph.preprocessor("p").process { _ in
                stop(); return .pass
            }
        } else {
            try graph.rawDataPipe("pipe").receive { _ in stop() }
        }
        let end = try await graph.run()
        guard case .stopped = end else {
            Issue.record("ended with \(end)")
            return
        }
        let before = calls.load(ordering: .relaxed)
        #expect(before > 0 && graph.pipeline.state == .null)
        // Detaching waits for calls, so one that was still on its way is counted by now.
        if place == "preprocessor" {
            try graph.preprocessor("p").detach()
        } else {
            try graph.rawDataPipe("pipe").detach()
        }
        #expect(calls.load(ordering: .relaxed) == before, "a handler was called after the stop")
    }

    @Test("GR-5 an unknown handler and an unknown option are errors with their names")
    func handlers() async throws {
        let error = #expect(throws: GraphError.self) {
            try Graph("videotestsrc ! preprocessor handler=pixellate ! fakesink")
        }
        #expect("\(error!)".contains("preprocessor has no handler \"pixellate\""), "\(error!)")
        let options = #expect(throws: GraphError.self) {
            try Graph("videosource handler=counter options=\"width=2,heigth=3\" ! fakesink")
        }
        #expect("\(options!)".contains("did you mean \"height\"?"), "\(options!)")
    }

    @Test("GR-5 options follow GstStructure's syntax, and a bad value is an error with the valid ones")
    func handlerOptions() throws {
        let options = try HandlerOptions(
            "a=3, name=shot-%05d.png,text=\"one, two\",rate=30000/1001,on=yes", handler: "test")
        #expect(try options.int("a", in: 0...9, default: 0) == 3)
        #expect(options.text("name") == "shot-%05d.png")
        #expect(options.text("text") == "one, two")
        #expect(try options.fraction("rate", default: Fraction(1, 1)) == Fraction(30000, 1001))
        #expect(try options.bool("on", default: false))
        try options.checkUnknown()
        let error = #expect(throws: MediaGraphError.self) { try options.int("a", in: 5...9, default: 5) }
        #expect("\(error!)" == "option a of test: expected a whole number from 5 to 9, got \"3\"")
        #expect(throws: MediaGraphError.self) { try HandlerOptions("=,=", handler: "test") }
    }

    @Test("GR-6 each run delivers only its own frames, end and error")
    func framesOfEachRun() async throws {
        let graph = try Graph("videotestsrc num-buffers=6 ! video/x-raw,width=16,height=16 ! rawdatapipe name=p")
        let frames = try graph.rawDataPipe("p").frames
        for _ in 0..<10 {
            try await graph.start()
            var times: [ClockTime?] = []
            for try await frame in frames { times.append(frame.presentationTimestamp) }
            #expect(times.count == 6 && times.first == .zero)
            await graph.stop()
        }
    }

    @Test("GR-6 cancelling a task that waits for the graph's end doesn't stop the graph")
    func cancelledWait() async throws {
        let graph = try Graph("videotestsrc is-live=true ! fakesink name=s")
        try await graph.start()
        let waiting = Task { try await graph.waitUntilEnd() }
        waiting.cancel()
        let result = await waiting.result
        #expect(throws: GraphError.self) { try result.get() }
        // A live graph plays before its sink has the first buffer.
        #expect(waitUntil { graph.pipeline.state == .playing })
        await graph.stop()
    }

    @Test(
        "GR-1 sinks that another element manages keep working, such as those of splitmuxsink",
        arguments: [
            "splitmuxsink muxer-factory=matroskamux max-size-time=300000000 location=%02d.mkv",
            "splitmuxsink name=m sink=filesink muxer-factory=matroskamux location=%02d.mkv",
        ])
    func pieces(sink: String) async throws {
        let folder = try TemporaryFolder()
        let path = sink.replacing("location=", with: "location=\(folder.file(""))/")
        let graph = try Graph(
            "videotestsrc is-live=true num-buffers=30 ! vp8enc deadline=1 keyframe-max-dist=5 ! \(path)")
        try await graph.run()
        #expect(try folder.read("00.mkv").count > 1000)
    }

    @Test("GR-1 a sink in a bin plays and stops beside a stream that never begins", .timeLimit(.minutes(5)))
    func binBesideSilence() async throws {
        let graph = try Graph(
            "videotestsrc is-live=true ! fpsdisplaysink name=f text-overlay=false video-sink=\"fakesink sync=true\"  "
                + "appsrc is-live=true ! fakesink")
        try await graph.start()
        let display = try graph.element("f")
        #expect(waitUntil { ((try? display.property("frames-rendered", as: UInt32.self)) ?? 0) >= 20 })
        await graph.stop()
        #expect(graph.pipeline.state == .null)
    }

    @Test("GR-1 sinks in bins report the end of their streams in live graphs", .timeLimit(.minutes(5)))
    func binsEnd() async throws {
        // Busy processors make it likely that a thread is preempted while a bin changes its state.
        let isOver = Atomic(false)
        let load = (0..<4).map { _ in
            NativeThread("load") { while !isOver.load(ordering: .relaxed) {} }
        }
        defer {
            isOver.store(true, ordering: .relaxed)
            for thread in load { thread.join() }
        }
        let folder = try TemporaryFolder()
        let graphs = try (0..<12).map { number in
            try Graph(
                "videotestsrc is-live=true num-buffers=2 ! video/x-raw,width=64,height=48 ! jpegenc ! splitmuxsink "
                    + "muxer-factory=matroskamux location=\(folder.file("\(number)"))-%02d.mkv")
        }
        for _ in 0..<12 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for graph in graphs { group.addTask { try await graph.run() } }
                try await group.waitForAll()
            }
        }
    }

    @Test("GR-1 the sinks of a live graph render nothing before they know their latency")
    func firstBufferWaitsForLatency() async throws {
        let deadline = ClockTime.milliseconds(400)
        let names = (0..<16).map { "s\($0)" }
        let graph = try Graph(
            names.map {
                "videotestsrc is-live=true ! video/x-raw,framerate=100/1 ! fakesink name=\($0) sync=true processing-deadline=\(deadline.nanoseconds)"
            }.joined(separator: "  "))
        let arrivals = names.map { _ in Log<ContinuousClock.Instant>() }
        for (name, log) in zip(names, arrivals) {
            try graph.element(name).staticPad("sink")?.observeBuffers { _ in log.add(.now) }
        }
        let began = ContinuousClock.now
        try await graph.start()
        #expect(waitUntil { arrivals.allSatisfy { $0.all.count >= 2 } })
        await graph.stop()
        // The second buffer comes after the first was rendered.
        let waits = arrivals.map { $0.all[1] - began }
        #expect(waits.allSatisfy { $0 > .milliseconds(390) }, "\(waits)")
    }
}

/// Tests the phases of a graph's run.
@Suite struct GraphStateTests {
    @Test("GR-6 the end of a run never ends the next run")
    func endOfLastRun() throws {
        var state = GraphState()
        let began = state.begin()
        let first = try #require(began)
        let ends = state.end(.endOfStream, of: first) != nil
        #expect(ends)
        state.stopped(first)
        let beganAgain = state.begin()
        let second = try #require(beganAgain)
        let stopsSecond = state.end(.stopped, of: first) != nil
        #expect(!stopsSecond && state.isStarting(second))
        state.askToEnd(first)
        let endsAgain = state.end(.endOfStream, of: second) != nil
        #expect(endsAgain && state.hasPlayedWhole)
    }
}
