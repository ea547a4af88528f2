import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// A virtual microphone with a device at its `sink`.
@Suite struct VirtualMicDeviceTests {
    /// Plays a second of an audiotestsrc's square wave through a node, and what comes out.
    private func play(
        _ node: String, _ prepare: (VirtualMicNode) throws -> Void = { _ in }
    ) async throws -> [Int16] {
        let heard = Log<[Int16]>()
        let graph = try Graph(
            """
            audiotestsrc num-buffers=100 samplesperbuffer=480 wave=square volume=0.25 \
            ! audio/x-raw,format=S16LE,rate=48000,channels=1 ! virtualmic name=mic \(node) ! appsink name=out sync=false
            """)
        let sink = try #require(AppSink(try graph.element("out")))
        sink.setDelegate(Recorder(heard))
        try prepare(try graph.virtualMic("mic"))
        try await graph.run()
        return heard.all.flatMap { $0 }
    }

    private final class Recorder: AppSinkDelegate, @unchecked Sendable {
        let heard: Log<[Int16]>
        init(_ heard: Log<[Int16]>) { self.heard = heard }
        override func received(_ sample: borrowing Sample) -> FlowReturn {
            heard.add(sample.buffer!.samples)
            return .ok
        }
    }

    @Test("VM-6 a device's sound passes through untouched without a handler, all of it")
    func passes() async throws {
        let samples = try await play("pace=fast")
        #expect(samples.count == 48000 && Set(samples.map { abs($0) }).isSubset(of: [8191, 8192]))
    }

    @Test("VM-6 a device's block that waits for room longer than block-timeout is neither refused nor lost")
    func waits() async throws {
        let graph = try Graph(
            """
            audiotestsrc num-buffers=8 samplesperbuffer=4800 ! audio/x-raw,format=S16LE,rate=48000,channels=1 \
            ! virtualmic name=mic pace=fast block-timeout=1000000 buffer-time=100000000 max-duration=100000000 \
            ! identity sleep-time=3000 ! virtualspeaker name=ears handler=count
            """)
        try await graph.run()
        let statistics = try graph.virtualMic("mic").statistics
        #expect(statistics.refused == 0 && statistics.frames == 8 && statistics.dropped == 0, "\(statistics)")
    }

    @Test("VM-6 a device hears that downstream has ended, as through a queue: its stream ends, and the graph with it")
    func downstreamEnds() async throws {
        let graph = try Graph(
            """
            audiotestsrc num-buffers=300 samplesperbuffer=480 ! audio/x-raw,format=S16LE,rate=48000,channels=1 ! tee name=t
            t. ! queue max-size-buffers=1 ! virtualmic name=mic pace=fast ! identity eos-after=5 ! fakesink
            t. ! queue ! fakesink name=other sync=false
            """)
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        // A tee ends all of its branches then.
        let others = try #require(graph.progress.first { $0.name == "other" }?.counts.frames)
        #expect((5..<300).contains(others))
        await graph.stop()
        // It begins anew.
        try await graph.run()
    }

    @Test("VM-6 handler=gain edits a device's sound, and limits what gets too loud")
    func gain() async throws {
        let plain = try await play("pace=fast")
        let softer = try await play("pace=fast handler=gain options=db=-6.0206")
        #expect(softer.count == 48000 && zip(plain, softer).allSatisfy { abs(Int($0) / 2 - Int($1)) <= 1 })
        let louder = try await play("pace=fast handler=gain options=db=40")
        #expect(Set(louder) == [32767, -32768])
    }

    @Test("VM-6 a closure edits each block: dropped ones are silence, and time goes on")
    func closure() async throws {
        let count = Atomic<Int>(0)
        let samples = try await play("pace=fast") { mic in
            try mic.process { frame in
                #expect(frame.sampleRate == 48000 && frame.channelCount == 1 && frame.frameCount == 480)
                let index = count.add(1, ordering: .relaxed).oldValue
                guard index % 2 == 0 else { return .drop }
                var samples = frame.mutableSamples
                for place in samples.indices { samples[place] = Int16(index) }
                return .pass
            }
        }
        let expected: [Int16] = (0..<100).flatMap { (index: Int) -> [Int16] in
            [Int16](repeating: index % 2 == 0 ? Int16(index) : 0, count: 480)
        }
        #expect(samples == expected)
    }

    @Test("VM-6 another branch's sound isn't changed by an edit")
    func tee() async throws {
        let heard = Log<[Int16]>()
        let graph = try Graph(
            """
            audiotestsrc num-buffers=50 samplesperbuffer=480 wave=square volume=0.25 \
            ! audio/x-raw,format=S16LE,rate=48000,channels=1 ! tee name=t ! queue ! appsink name=out sync=false
            t. ! queue ! virtualmic pace=fast handler=gain options=db=20 ! fakesink
            """)
        try #require(AppSink(try graph.element("out"))).setDelegate(Recorder(heard))
        try await graph.run()
        #expect(heard.all.flatMap { $0 }.count == 24000)
        #expect(Set(heard.all.flatMap { $0 }.map { abs($0) }).isSubset(of: [8191, 8192]))
    }

    @Test("VM-6 a microphone has the device's place: its blocks are dropped and counted, and its end is none")
    func replaced() async throws {
        let dropped = Log<UInt64>()
        let samples = try await play("pace=fast stereo=false") { mic in
            try mic.attach(
                RecordingMic(onStart: { sender in
                    _ = NativeThread("pump") {
                        _ = waitUntil { mic.statistics.dropped >= 100 }
                        for _ in 0..<10 { try? sendNow(sender, [Int16](repeating: 5, count: 480)) }
                        dropped.add(mic.statistics.dropped)
                        sender.endOfStream()
                    }
                }))
        }
        #expect(samples == [Int16](repeating: 5, count: 4800) && dropped.all == [100])
    }

    @Test("VM-6 a device that ends before it has said anything ends nothing when it is replaced")
    func replacedIsSilent() async throws {
        let graph = try Graph(
            "fakesrc num-buffers=0 ! virtualmic name=m handler=tone options=seconds=1 pace=fast ! fakesink")
        try await graph.run()
        #expect(try graph.virtualMic("m").statistics.frames > 10)
    }

    @Test("VM-6 a handler that is a source has the device's place too: all of its sound, none of the device's")
    func replacedByName() async throws {
        let samples = try await play("pace=fast handler=tone options=\"wave=square,volume=0.5,seconds=0.1\"")
        #expect(samples.count == 4800 && Set(samples.map { abs($0) }) == [16384])
    }

    @Test("VM-6 a device that is replaced is never kept waiting, whatever becomes of the microphone's sound")
    func replacedIsDrained() async throws {
        // Nobody takes what the microphone sends: without a sender's room the device would stand still, were it heard.
        let graph = try Graph(
            """
            audiotestsrc num-buffers=500 samplesperbuffer=480 ! audio/x-raw,format=S16LE,rate=48000,channels=1 \
            ! virtualmic name=mic handler=tone buffer-time=20000000 ! fakesink sync=true
            """)
        graph.useClock(TestClock().clock)
        try await graph.start()
        let mic = try graph.virtualMic("mic")
        #expect(waitUntil { mic.statistics.dropped == 500 }, "\(mic.statistics)")
        await graph.stop()
    }

    @Test("VM-6 a device's latency is part of the node's where it is heard, and is not where it is replaced")
    func latency() throws {
        for (handler, expected) in [("gain", 1070), ("tone", 70)] {
            try Nodes.register()
            let element = try #require(Element(factory: "virtualmic"))
            try element.setProperty("handler", parsing: handler)
            let harness = Harness(element, sink: "sink", source: "src")
            harness.setUpstreamLatency(.seconds(1))
            harness.play()
            #expect(harness.latency?.minimum == .milliseconds(UInt64(expected)), "\(handler)")
        }
    }

    @Test("VM-6 a handler's error and its wish to fail end the graph, with its name")
    func failing() async throws {
        struct Broken: Error {}
        for (verdict, text) in [
            ({ @Sendable () throws -> Verdict in throw Broken() }, "Broken()"),
            ({ @Sendable () throws -> Verdict in .fail("no more") }, "no more"),
        ] {
            let error = await #expect(throws: GraphError.self) {
                _ = try await play("pace=fast") { mic in try mic.process { _ in try verdict() } }
            }
            guard case .failed(let failure)? = error else { continue }
            #expect(failure.element == "mic" && failure.error.message.hasSuffix(text))
        }
    }

    @Test(
        "EL-2 behind a flush a device's sound has the times that it comes with, as fast as it is taken too",
        .disabled(
            if: Sanitizer.isThread, "GStreamer's harness hands buffers over under locks that the sanitizer doesn't see")
    )
    func flushed() throws {
        try Nodes.register()
        let element = try #require(Element(factory: "virtualmic"))
        try element.setProperty("pace", parsing: "fast")
        let harness = Harness(element, sink: "sink", source: "src")
        harness.setLive(false)
        harness.setSourceCaps("audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved")
        harness.push([UInt8](repeating: 1, count: 960), at: .zero)
        #expect(harness.pulledTimestamp() == .zero)
        harness.push(.flushStart)
        harness.push(.flushStop)
        harness.push(.segment)
        harness.push([UInt8](repeating: 2, count: 960), at: .seconds(5))
        #expect(harness.pulledTimestamp() == .seconds(5))
    }

    @Test("VM-6 live at the clock's pace every block of the device's goes through")
    func live() async throws {
        let graph = try Graph(
            """
            audiotestsrc is-live=true num-buffers=30 samplesperbuffer=480 ! audio/x-raw,format=S16LE,rate=48000,channels=1 \
            ! identity sleep-time=1000 ! virtualmic name=mic handler=gain ! fakesink sync=true
            """)
        try await graph.run()
        let counts = try graph.virtualMic("mic").statistics
        #expect(counts.frames == 30, "\(counts)")
        #expect(counts.dropped == 0, "\(counts)")
    }

    @Test("VM-6 the sink is there when it is asked for; two channels are refused where stereo is off")
    func pads() async throws {
        let graph = try Graph("virtualmic name=mic pace=fast ! fakesink")
        let element = try graph.element("mic")
        #expect(element.requestPad("sink") != nil)
        let stereo = "audiotestsrc ! audio/x-raw,format=S16LE,rate=48000,channels=2 ! virtualmic"
        #expect(throws: GraphError.self) { _ = try Graph("\(stereo) ! fakesink") }
        _ = try Graph("\(stereo) stereo=true ! fakesink")
    }

    @Test("VM-6 a handler that edits what comes in is refused where nothing does, in the text and by the node")
    func nothingToEdit() async throws {
        #expect(throws: GraphError.self) { _ = try Graph("virtualmic name=mic handler=gain ! fakesink") }
        let graph = try Graph("virtualmic name=mic ! fakesink")
        try graph.element("mic").setProperty("handler", to: "gain")
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        guard case .failed(let failure)? = error else { return }
        #expect(
            failure.error.message
                == "mic: handler gain: processes input, but the sink isn't linked; link a source to it")
    }
}
