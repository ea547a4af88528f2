import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests a virtual microphone with a device at its `sink`.
@Suite struct VirtualMicDeviceTests {
    /// Plays a second of a square wave through a node and returns the samples that come out.
    private func play(
        _ node: String, _ prepare: (VirtualMicNode) throws -> Void = { _ in }
    ) async throws -> [Int16] {
        let received = Log<[Int16]>()
        let graph = try Graph(
            """
            audiotestsrc num-buffers=100 samplesperbuffer=480 wave=square volume=0.25 \
            ! audio/x-raw,format=S16LE,rate=48000,channels=1 ! virtualmic name=mic \(node) ! appsink name=out sync=false
            """)
        let sink = try #require(AppSink(try graph.element("out")))
        sink.setDelegate(Recorder(received))
        try prepare(try graph.virtualMic("mic"))
        try await graph.run()
        return received.all.flatMap { $0 }
    }

    private final class Recorder: AppSinkDelegate, @unchecked Sendable {
        let received: Log<[Int16]>
        init(_ received: Log<[Int16]>) { self.received = received }
        override func received(_ sample: borrowing Sample) -> FlowReturn {
            received.add(sample.buffer!.samples)
            return .ok
        }
    }

    @Test("VM-6 without a handler a device's audio passes through completely and untouched")
    func passes() async throws {
        let samples = try await play("pace=fast")
        #expect(samples.count == 48000 && Set(samples.map { abs($0) }).isSubset(of: [8191, 8192]))
    }

    @Test(
        "SE-4 a device's sound goes on when the processor throws, as `on-error` says",
        arguments: ["pass", "drop", "detach"])
    func failing(policy: String) async throws {
        let calls = Log<Bool>()
        let samples = try await play("pace=fast on-error=\(policy)") { mic in
            try mic.process { _ in
                calls.add(true)
                throw MediaGraphError.noAudio(.init("nothing to edit"))
            }
        }
        #expect(samples.count == 48000)
        #expect(Set(samples.map { abs($0) }).isSubset(of: policy == "drop" ? [0] : [8191, 8192]))
        #expect(policy == "detach" ? calls.all.count == 1 : calls.all.count > 1)
    }

    @Test("VM-6 a device's block that waits longer than block-timeout is neither refused nor lost")
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

    @Test("VM-6 when downstream ends the stream, the device's stream and the graph end too")
    func downstreamEnds() async throws {
        let graph = try Graph(
            """
            audiotestsrc num-buffers=300 samplesperbuffer=480 ! audio/x-raw,format=S16LE,rate=48000,channels=1 ! tee name=t
            t. ! queue max-size-buffers=1 ! virtualmic name=mic pace=fast ! identity eos-after=5 ! fakesink
            t. ! queue ! fakesink name=other sync=false
            """)
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        // A tee then ends all its branches.
        let others = try #require(graph.progress.first { $0.name == "other" }?.counts.frames)
        #expect((5..<300).contains(others))
        await graph.stop()
        // The graph can run again.
        try await graph.run()
    }

    @Test("VM-6 handler=gain changes a device's level and clips what gets too loud")
    func gain() async throws {
        let plain = try await play("pace=fast")
        let softer = try await play("pace=fast handler=gain options=db=-6.0206")
        #expect(softer.count == 48000 && zip(plain, softer).allSatisfy { abs(Int($0) / 2 - Int($1)) <= 1 })
        let louder = try await play("pace=fast handler=gain options=db=40")
        #expect(Set(louder) == [32767, -32768])
    }

    @Test("VM-6 a closure can edit each block, and a dropped block becomes silence")
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

    @Test("VM-6 an edit doesn't change another branch's audio")
    func tee() async throws {
        let received = Log<[Int16]>()
        let graph = try Graph(
            """
            audiotestsrc num-buffers=50 samplesperbuffer=480 wave=square volume=0.25 \
            ! audio/x-raw,format=S16LE,rate=48000,channels=1 ! tee name=t ! queue ! appsink name=out sync=false
            t. ! queue ! virtualmic pace=fast handler=gain options=db=20 ! fakesink
            """)
        try #require(AppSink(try graph.element("out"))).setDelegate(Recorder(received))
        try await graph.run()
        #expect(received.all.flatMap { $0 }.count == 24000)
        #expect(Set(received.all.flatMap { $0 }.map { abs($0) }).isSubset(of: [8191, 8192]))
    }

    @Test("VM-6 an attached source replaces the device, whose blocks are dropped and counted")
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

    @Test("VM-6 a replaced device that ends before its first block doesn't end the stream")
    func replacedIsSilent() async throws {
        let graph = try Graph(
            "fakesrc num-buffers=0 ! virtualmic name=m handler=tone options=seconds=1 pace=fast ! fakesink")
        try await graph.run()
        #expect(try graph.virtualMic("m").statistics.frames > 10)
    }

    @Test("VM-6 a source handler replaces the device completely")
    func replacedByName() async throws {
        let samples = try await play("pace=fast handler=tone options=\"wave=square,volume=0.5,seconds=0.1\"")
        #expect(samples.count == 4800 && Set(samples.map { abs($0) }) == [16384])
    }

    @Test("VM-6 a replaced device never blocks, even if the microphone's audio does")
    func replacedIsDrained() async throws {
        // The clock doesn't advance, so the microphone's audio isn't taken. If the device's audio were used, the device
        // would block.
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

    @Test("VM-6 the node's latency includes the device's latency unless the device is replaced")
    func latency() throws {
        for (handler, expected) in [("gain", 1070), ("tone", 70)] {
            try Nodes.register()
            let element = try #require(Element(factory: "virtualmic"))
            try element.setProperty("handler", parsing: handler)
            // A resampler, which is made for the first block, would add its own latency.
            try element.setProperty("drift", parsing: "skew")
            let harness = Harness(element, sink: "sink", source: "src")
            harness.setUpstreamLatency(.seconds(1))
            harness.play()
            #expect(harness.latency?.minimum == .milliseconds(UInt64(expected)), "\(handler)")
        }
    }

    @Test("VM-6 a handler's error and the verdict `fail` end the graph with the node's name")
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
        "EL-2 after a flush a device's audio keeps its own timestamps, at the fast pace too",
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

    @Test("VM-6 at the live pace each of the device's blocks passes")
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

    @Test("VM-6 the sink is a request pad, and stereo is refused with stereo=false")
    func pads() async throws {
        let graph = try Graph("virtualmic name=mic pace=fast ! fakesink")
        let element = try graph.element("mic")
        #expect(element.requestPad("sink") != nil)
        let stereo = "audiotestsrc ! audio/x-raw,format=S16LE,rate=48000,channels=2 ! virtualmic"
        #expect(throws: GraphError.self) { _ = try Graph("\(stereo) ! fakesink") }
        _ = try Graph("\(stereo) stereo=true ! fakesink")
    }

    @Test("VM-6 an editing handler without input is refused by the check and by the node")
    func nothingToEdit() async throws {
        #expect(throws: GraphError.self) { _ = try Graph("virtualmic name=mic handler=gain ! fakesink") }
        let graph = try Graph("virtualmic name=mic ! fakesink")
        try graph.element("mic").setProperty("handler", to: "gain")
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        guard case .failed(let failure)? = error else { return }
        #expect(
            failure.error.message
                == "mic: handler gain processes input, but the sink isn't linked; link a source to it")
    }
}
