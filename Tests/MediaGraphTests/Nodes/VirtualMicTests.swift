import CMediaGraphABI
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests a virtual microphone's lifecycle and what it refuses.
@Suite struct VirtualMicTests {
    private static let block = [Int16](repeating: 7, count: 480)

    @Test("VM-1 a source's calls come in order: initialize, start, stop for each PLAYING, uninitialize")
    func lifecycle() throws {
        let mic = try MicHarness(plays: false)
        let element = mic.harness.element
        for state in [State.ready, .paused, .playing, .paused, .playing, .paused, .ready, .null] {
            element.setState(state)
        }
        #expect(
            mic.source.calls.all == [
                "micInitialize", "micStartSend", "micStopSend", "micStartSend", "micStopSend", "micUninitialize",
            ])
    }

    @Test("VM-1 audio before micStartSend and after micStopSend is refused, counted and never sent on")
    func gate() throws {
        let refusals = Log<MediaGraphError.Code>()
        let source = RecordingMic(onInitialize: { sender in
            do throws(MediaGraphError) { try sendNow(sender, Self.block) } catch { refusals.add(error.code) }
        })
        let mic = try MicHarness(["jitter": "0"], source: source)
        try sendNow(mic.sender, Self.block)
        #expect(mic.pull()?.samples == Self.block)
        mic.harness.element.setState(.paused)
        #expect(mic.error { () throws(MediaGraphError) in try sendNow(mic.sender, Self.block) }?.code == .wrongUsage)
        #expect(refusals.all == [.wrongUsage])
        #expect(mic.counts.frames == 1 && mic.counts.refused == 2 && mic.harness.bufferCount == 0)
    }

    @Test("VM-1 a block sent inside micStartSend is accepted without waiting")
    func insideStart() throws {
        let source = RecordingMic(onStart: { sender in
            for _ in 0..<100 { try sendNow(sender, Self.block) }
            sender.endOfStream()
        })
        let mic = try MicHarness(["pace": "fast"], source: source)
        #expect(mic.pullToEnd().samples.count == 48000)
    }

    @Test("VM-1 a source whose start throws fails the state change with the node's name")
    func failingStart() async throws {
        struct NoMicrophone: Error {}
        let graph = try Graph("virtualmic name=mic ! fakesink")
        try graph.virtualMic("mic").attach(RecordingMic(onStart: { _ in throw NoMicrophone() }))
        let error = await #expect(throws: GraphError.self) { try await graph.start() }
        guard case .failed(let failure)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure.element == "mic" && failure.error.message == "mic: the source: NoMicrophone()")
        await graph.stop()
    }

    @Test("VM-1 the node starts a source that is a task, and the stream ends when the task returns")
    func task() async throws {
        final class TaskMic: AsyncVirtualMic {
            func run(sender: AudioSender) async throws {
                for index in 0..<200 {
                    try await sender.send([Int16](repeating: Int16(index), count: 48), sampleRate: 48000)
                }
            }
        }
        let mic = try MicHarness(["pace": "fast", "buffer-time": "2000000"], plays: false)
        let element = mic.harness.element
        try NodeVTable.detach(MGAudioSource.self, from: element)
        try NodeVTable.attach(TaskMic(), to: element)
        mic.harness.play()
        let sent: [Int16] = (0..<200).flatMap { (index: Int16) in [Int16](repeating: index, count: 48) }
        #expect(mic.pullToEnd().samples == sent)
    }

    @Test("VM-1 a second source, one beside `handler=` and one while running are refused")
    func oneSource() throws {
        let mic = try MicHarness()
        let element = mic.harness.element
        func attach() -> MediaGraphError.Code? {
            mic.error { () throws(MediaGraphError) in try NodeVTable.attach(RecordingMic(), to: element) }?.code
        }
        #expect(attach() == .lockedWhileRunning)
        element.setState(.null)
        #expect(attach() == .alreadyInUse)
        #expect(throws: PropertyError.self) { try element.setProperty("handler", parsing: "tone") }
        try NodeVTable.detach(MGAudioSource.self, from: element)
        #expect(attach() == nil)
    }

    @Test(
        "VM-2 odd lengths and invalid rates and channel counts are refused with the valid values",
        arguments: [
            (0, 48000, 1, "sending audio: the block is empty"),
            (3, 48000, 1, "dataLength: expected a multiple of 2 bytes: 16 bits for each channel, got 3"),
            (6, 48000, 2, "dataLength: expected a multiple of 4 bytes: 16 bits for each channel, got 6"),
            (-2, 48000, 1, "dataLength: expected a multiple of 2 bytes: 16 bits for each channel, got -2"),
            (4, 48000, 3, "channels: expected 1 or 2, got 3"), (4, 48000, 0, "channels: expected 1 or 2, got 0"),
            (
                4, 12000, 1,
                "sample rate: expected one of 8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000, 96000, 192000, got 12000"
            ),
        ] as [(Int, Int, Int, String)])
    func refusals(length: Int, rate: Int, channels: Int, text: String) throws {
        let mic = try MicHarness(["stereo": "true"])
        // A valid block before and after shows that a refusal has no other effect.
        try sendNow(mic.sender, Self.block)
        let refusal = mic.error { () throws(MediaGraphError) in
            try sendBytes(mic.sender, length: length, rate: rate, channels: channels)
        }
        #expect(refusal?.code == .invalidParameter && refusal.map { "\($0)" } == text)
        try sendNow(mic.sender, Self.block)
        #expect(mic.counts.refused == 1 && mic.counts.frames == 2)
    }

    @Test("VM-2 a timestamp too large for a running time is refused")
    func timestamps() throws {
        let mic = try MicHarness(["pace": "fast"])
        for time in [UInt64.max - 1, UInt64.max / 2, UInt64.max / 4] {
            let refusal = mic.error { () throws(MediaGraphError) in
                try sendNow(mic.sender, Self.block, at: ClockTime(nanoseconds: time))
            }
            #expect(refusal?.code == .invalidParameter)
            try sendNow(mic.sender, Self.block, at: .milliseconds(5))
        }
        // A century of nanoseconds is accepted. A time far ahead starts a new timeline.
        try sendNow(mic.sender, Self.block, at: ClockTime(nanoseconds: .max / 4 - 1))
        #expect(mic.counts.refused == 3 && mic.counts.frames == 4)
    }

    @Test("VM-2 stereo is refused without stereo=true, and otherwise sent on as two channels")
    func stereo() throws {
        let mono = try MicHarness()
        let refusal = mono.error { () throws(MediaGraphError) in try sendNow(mono.sender, Self.block, channels: 2) }
        #expect(refusal?.code == .unsupported)
        let stereo = try MicHarness(["stereo": "true", "jitter": "0"])
        let samples: [Int16] = (0..<960).map { (index: Int16) in index % 2 == 0 ? index : -index }
        try sendNow(stereo.sender, samples, channels: 2)
        let piece = try #require(stereo.pull())
        #expect(piece.samples == samples && piece.duration == 10_000_000)
        #expect(stereo.harness.element.staticPad("src")?.currentCaps?.description.contains("channels=(int)2") == true)
    }

    @Test("VM-4 a block longer than max-duration is refused at any rate")
    func tooMuch() throws {
        for rate in [8000, 44100, 192000] {
            let mic = try MicHarness(["max-duration": "500000000", "pace": "fast"])
            try sendNow(mic.sender, [Int16](repeating: 0, count: rate / 2), rate: rate)
            let refusal = mic.error { () throws(MediaGraphError) in
                try sendNow(mic.sender, [Int16](repeating: 0, count: rate / 2 + 1), rate: rate)
            }
            #expect(refusal?.code == .tooMuchAtOnce)
        }
    }

    @Test("VM-4 with backpressure=refuse a sender without pauses is refused, and accepted audio isn't lost")
    func tooFrequent() throws {
        let mic = try MicHarness(["backpressure": "refuse", "buffer-time": "100000000"])
        var accepted = 0
        var refusal: MediaGraphError?
        while refusal == nil, accepted < 1000 {
            refusal = mic.error { () throws(MediaGraphError) in try sendNow(mic.sender, Self.block) }
            if refusal == nil { accepted += 1 }
        }
        #expect(refusal?.code == .tooFrequent)
        // The buffer's blocks, and those that the streaming thread holds: up to the first six, because the clock
        // doesn't advance.
        #expect((10...17).contains(accepted))
        mic.harness.setTime(.seconds(10))
        #expect(mic.pull(samples: accepted * 480).samples.count >= accepted * 480)
    }

    @Test("VM-4 a blocked sender gets `timeOut` while the clock stands still, and room when it advances")
    func blocking() throws {
        let mic = try MicHarness(["buffer-time": "50000000", "block-timeout": "20000000", "jitter": "0"])
        var refusal: MediaGraphError?
        var accepted = 0
        while refusal == nil, accepted < 1000 {
            refusal = mic.error { () throws(MediaGraphError) in try sendNow(mic.sender, Self.block) }
            if refusal == nil { accepted += 1 }
        }
        #expect(refusal?.code == .timeOut && (5...8).contains(accepted))
        #expect(mic.sender.buffered.nanoseconds <= 60_000_000)
        mic.harness.setTime(.seconds(1))
        _ = mic.pull(samples: accepted * 480)
        try sendNow(mic.sender, Self.block)
    }

    @Test("VM-4 blocks from several tasks at once each arrive once and whole")
    func severalTasks() async throws {
        let mic = try MicHarness(["pace": "fast", "buffer-time": "30000000"])
        let sender = mic.sender
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for index in 0..<50 {
                        let block = [Int16](repeating: Int16(task * 50 + index), count: 480)
                        await #expect(throws: Never.self) { try await sender.send(block, sampleRate: 48000) }
                    }
                }
            }
        }
        let samples = mic.pull(samples: 8 * 50 * 480).samples
        let blocks = stride(from: 0, to: samples.count, by: 480).map { Set(samples[$0..<$0 + 480]) }
        #expect(blocks.allSatisfy { $0.count == 1 })
        #expect(blocks.map { $0.first! }.sorted() == (0..<400).map { Int16($0) })
    }

    @Test("EL-3 the latency is the jitter, a block of 10 ms and the converter's delay, and fast isn't live")
    func latency() throws {
        let mic = try MicHarness(["drift": "none"], sinkCaps: "audio/x-raw,rate=48000")
        try sendNow(mic.sender, Self.block)
        mic.harness.setTime(.milliseconds(100))
        #expect(mic.pull() != nil)
        let latency = try #require(mic.harness.latency)
        #expect(latency.isLive && latency.minimum == .milliseconds(70))
        try sendNow(mic.sender, [Int16](repeating: 0, count: 160), rate: 8000)
        mic.harness.setTime(.milliseconds(200))
        #expect(waitUntil { (mic.harness.latency?.minimum ?? .zero) > .milliseconds(74) })
        #expect(try #require(mic.harness.latency).minimum < .milliseconds(90))
        let fast = try MicHarness(["pace": "fast"])
        #expect(fast.harness.latency?.isLive == false)
    }

    @Test("EL-1 repeated state changes, with and without audio, start and stop the source equally often")
    func states() throws {
        let mic = try MicHarness(["jitter": "0"], plays: false)
        for round in 0..<50 {
            mic.harness.element.setState([State.ready, .paused, .playing][round % 3])
            if round % 3 == 2 {
                try sendNow(mic.sender, Self.block)
                #expect(mic.pull()?.samples == Self.block)
            }
            mic.harness.element.setState([State.null, .ready, .paused][round % 2])
        }
        mic.harness.element.setState(.null)
        #expect(
            mic.source.calls.all.filter { $0 == "micInitialize" }.count
                == mic.source.calls.all.filter { $0 == "micUninitialize" }.count)
        #expect(mic.source.calls.all.filter { $0 == "micStartSend" }.count == 16)
    }

    @Test("VM-2 a block for which downstream accepts no format is counted as dropped")
    func countsUnfitBlock() throws {
        let mic = try MicHarness(["jitter": "0"], sinkCaps: "audio/x-raw, format=F64LE, rate=48000, channels=1")
        try sendNow(mic.sender, Self.block)
        #expect(waitUntil { mic.counts.dropped == 1 })
        #expect(mic.counts.frames == 1 && mic.harness.bufferCount == 0)
    }
}

private func sendBytes(_ sender: AudioSender, length: Int, rate: Int, channels: Int) throws(MediaGraphError) {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8)
    defer { memory.deallocate() }
    try sender.send(memory, dataLength: length, sampleRate: rate, channelCount: channels)
}
