import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Measures a virtual microphone's audio quality.
@Suite struct VirtualMicSoundTests {
    /// Sends `sine` in blocks of these lengths, repeatedly, and ends the stream.
    private func send(_ sine: Sine, count: Int, blocks: [Int], _ sender: AudioSender) throws {
        var start = 0
        var index = 0
        while start < count {
            let length = min(blocks[index % blocks.count], count - start)
            try sendNow(sender, sine.samples(start, length), rate: sine.rate)
            start += length
            index += 1
        }
        sender.endOfStream()
    }

    @Test(
        "VM-3 a sine at each rate, converted to 48 kHz, has less than −80 dB of distortion and its length",
        arguments: AudioSender.sampleRates)
    func conversion(rate: Int) throws {
        let sine = Sine(rate < 16000 ? 997 : 2500, rate: rate)
        let mic = try MicHarness(["pace": "fast", "buffer-time": "60000000000"], sinkCaps: "audio/x-raw,rate=48000")
        try send(sine, count: rate, blocks: [rate / 100], mic.sender)
        let pieces = mic.pullToEnd()
        #expect(pieces.isContinuous(rate: 48000) && pieces.samples.count == 48000)
        // The filter's ends are silence, which fits no sine.
        let result = Sine(sine.frequency, rate: 48000).distortion(
            of: Array(pieces.samples.dropFirst(2000).dropLast(2000)))
        #expect(result.decibels < -80 && result.worst < 8, "\(result)")
    }

    @Test(
        "VM-3 blocks of any length join without a click, with and without rate conversion",
        arguments: [[1], [7], [160], [441], [480], [1024], [4096], [3, 977, 1, 48, 5000, 480, 481, 479]],
        [44100, 48000])
    func blocks(lengths: [Int], rate: Int) throws {
        let sine = Sine(997, rate: rate)
        let mic = try MicHarness(["pace": "fast", "buffer-time": "60000000000"], sinkCaps: "audio/x-raw,rate=48000")
        try send(sine, count: rate / 2, blocks: lengths, mic.sender)
        let pieces = mic.pullToEnd()
        #expect(pieces.isContinuous(rate: 48000) && pieces.samples.count == 24000)
        if rate == 48000 { #expect(pieces.samples == sine.samples(0, 24000)) }
        let result = Sine(997, rate: 48000).distortion(of: Array(pieces.samples.dropFirst(1000).dropLast(1000)))
        #expect(result.decibels < -80 && result.worst < 8, "\(result)")
    }

    @Test("VM-3 ten minutes of blocks with ±30 ms of jitter become continuous audio without drift")
    func tenMinutes() throws {
        // Other tests cover drift and the first block's time.
        let mic = try MicHarness(["drift": "none"])
        var random = SplitMix64(state: 11)
        let jitter = (0..<60000).map { _ in Int.random(in: -30_000_000...30_000_000, using: &random) }
        var pieces: [MicHarness.Piece] = []
        var now = 0
        for index in 0..<60000 {
            // A later block doesn't come before an earlier one.
            now = max(now, 100_000_000 + index * 10_000_000 + jitter[index])
            mic.harness.setTime(ClockTime(nanoseconds: UInt64(now)))
            try sendNow(mic.sender, [Int16](repeating: Int16(index % 1000), count: 480))
            while mic.harness.bufferCount > 0, let piece = mic.pull() { pieces.append(piece) }
        }
        mic.sender.endOfStream()
        mic.harness.setTime(.seconds(700))
        pieces += mic.pullToEnd()
        #expect(pieces.count == 60000 && pieces.isContinuous(rate: 48000))
        #expect(pieces.allSatisfy { !$0.isGap })
        let sent: [Int16] = (0..<60000).map { (index: Int) in Int16(index % 1000) }
        #expect(pieces.map(\.samples[0]) == sent)
    }

    @Test("VM-4 a pause is output as silent gaps, and the audio after it is at the right time")
    func pause() throws {
        let mic = try MicHarness()
        mic.harness.setTime(.seconds(1))
        let loud = [Int16](repeating: 9, count: 480)
        // A first block with a timestamp isn't held back.
        try sendNow(mic.sender, loud, at: .seconds(1))
        #expect(mic.pull()?.time == 1_000_000_000)
        // Within the allowed lateness nothing happens yet.
        mic.harness.setTime(.milliseconds(1069))
        #expect(mic.harness.bufferCount == 0)
        mic.harness.setTime(.milliseconds(1200))
        var pieces: [MicHarness.Piece] = []
        while pieces.last.map({ $0.time < 1_130_000_000 }) ?? true, let piece = mic.pull() { pieces.append(piece) }
        #expect(pieces.allSatisfy { $0.isGap && $0.samples.allSatisfy { $0 == 0 } })
        // Audio that returns at an odd time starts there, to the sample.
        mic.harness.setTime(ClockTime(nanoseconds: 1_234_567_890))
        try sendNow(mic.sender, loud)
        try sendNow(mic.sender, loud)
        mic.harness.setTime(.milliseconds(1250))
        while pieces.filter({ !$0.isGap }).flatMap(\.samples).count < 960, let piece = mic.pull() {
            pieces.append(piece)
        }
        #expect(pieces.isContinuous(rate: 48000) && pieces.first?.time == 1_010_000_000)
        let back = try #require(pieces.first { !$0.isGap })
        #expect(back.time.distance(to: 1_234_567_890).magnitude <= 20834)
        #expect(pieces.allSatisfy { !$0.isDiscontinuous })
        #expect(mic.counts.silence.nanoseconds.distance(to: 224_567_890).magnitude <= 20834)
    }

    @Test(
        "VM-3 given timestamps are kept, apart from small deviations, and a pause is silence or a new start"
    )
    func givenTimes() throws {
        let mic = try MicHarness(["pace": "fast"])
        let block = [Int16](repeating: 5, count: 480)
        for time in [2000, 2013, 1999, 2030, 2140, 2150] {
            try sendNow(mic.sender, block, at: .milliseconds(UInt64(time)))
        }
        try sendNow(mic.sender, block, at: .seconds(3600))
        mic.sender.endOfStream()
        let pieces = mic.pullToEnd()
        let sound = pieces.filter { !$0.isGap }
        let milliseconds: [UInt64] = [2000, 2010, 2020, 2030, 2140, 2150, 3_600_000]
        #expect(sound.map(\.time) == milliseconds.map { (time: UInt64) in time * 1_000_000 })
        #expect(pieces.filter(\.isGap).count == 10)
        #expect(pieces.dropFirst().filter(\.isDiscontinuous).map(\.time) == [3_600_000_000_000])
    }

    @Test("VM-4 a sender that never sleeps is paced by the clock")
    func paced() throws {
        let mic = try MicHarness(["buffer-time": "50000000", "block-timeout": "60000000000"])
        let sender = mic.sender
        let pump = NativeThread("pump") {
            for index in 0..<100 { try? sendNow(sender, [Int16](repeating: Int16(index), count: 480)) }
        }
        var pieces: [MicHarness.Piece] = []
        for step in 0..<100 {
            mic.harness.setTime(.milliseconds(UInt64(step * 10)))
            if let piece = mic.pull() { pieces.append(piece) }
            #expect(mic.harness.bufferCount == 0)
        }
        pump.join()
        #expect(pieces.samples.count == 48000 && pieces.isContinuous(rate: 48000))
        #expect(pieces.map { $0.samples[0] } == (0..<100).map { Int16($0) })
    }

    @Test("EL-2 an end within a block of 10 ms outputs exactly what was sent")
    func endOfStream() throws {
        for rate in [48000, 8000] {
            let mic = try MicHarness(["pace": "fast"], sinkCaps: "audio/x-raw,rate=48000")
            try sendNow(mic.sender, [Int16](repeating: 3, count: 777), rate: rate)
            mic.sender.endOfStream()
            #expect(mic.pullToEnd().samples.count == 777 * 48000 / rate)
        }
    }

    @Test("EL-2 a flush drops and counts waiting audio, and later audio starts anew")
    func flush() throws {
        let mic = try MicHarness(["jitter": "0"])
        try sendNow(mic.sender, [Int16](repeating: 1, count: 4800))
        try sendNow(mic.sender, [Int16](repeating: 2, count: 480))
        #expect(mic.pull()?.samples[0] == 1)
        mic.harness.element.sendFlush()
        mic.harness.setTime(.seconds(3))
        try sendNow(mic.sender, [Int16](repeating: 4, count: 480))
        #expect(waitUntil { mic.harness.bufferCount > 0 })
        let piece = try #require(mic.pull())
        #expect(piece.samples == [Int16](repeating: 4, count: 480) && piece.time == 3_000_000_000)
        #expect(mic.counts.dropped == 1)
    }

    @Test("EL-2 a sender that changes its rate is converted to the format already in use")
    func changingRate() throws {
        let mic = try MicHarness(["pace": "fast", "stereo": "true"])
        try sendNow(mic.sender, [Int16](repeating: 100, count: 4410), rate: 44100)
        try sendNow(mic.sender, [Int16](repeating: 100, count: 800), rate: 8000)
        try sendNow(mic.sender, [Int16](repeating: 100, count: 9600), rate: 48000, channels: 2)
        mic.sender.endOfStream()
        let pieces = mic.pullToEnd()
        #expect(pieces.isContinuous(rate: 44100) && pieces.samples.count == 3 * 4410)
        #expect(mic.harness.element.staticPad("src")?.currentCaps?.description.contains("rate=(int)44100") != false)
    }

    @Test("EL-2 when downstream wants another rate, the next block has it")
    func renegotiation() async throws {
        let graph = try Graph(
            "virtualmic name=mic pace=fast ! capsfilter name=filter caps=audio/x-raw,rate=48000 ! fakesink name=sink")
        let source = RecordingMic()
        try graph.virtualMic("mic").attach(source)
        try await graph.start()
        let pad = try #require(try graph.element("mic").staticPad("src"))
        try sendNow(source.sender, [Int16](repeating: 0, count: 480))
        #expect(waitUntil { pad.currentCaps?.description.contains("48000") == true })
        try graph.element("filter").setProperty("caps", parsing: "audio/x-raw,rate=16000")
        try sendNow(source.sender, [Int16](repeating: 0, count: 4800))
        #expect(waitUntil { pad.currentCaps?.description.contains("16000") == true })
        await graph.finish()
    }

    @Test("VM-4 a pause goes on as silence in the format that downstream asks for meanwhile")
    func newFormatInPause() throws {
        let mic = try MicHarness(["jitter": "0", "drift": "none"], sinkCaps: "audio/x-raw,rate=48000")
        try sendNow(mic.sender, [Int16](repeating: 5, count: 480))
        #expect(mic.pull()?.samples.count == 480)
        mic.harness.setSinkCaps("audio/x-raw,rate=16000")
        mic.harness.setTime(.milliseconds(100))
        let piece = try #require(mic.pull())
        #expect(piece.isGap && piece.time == 10_000_000 && piece.samples.count == 160, "\(piece)")
    }
}
