import CMediaGraphABI
import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests the handlers that a virtual microphone can have by name.
@Suite struct MicrophoneTests {
    /// Returns the audio of a virtual microphone with a handler by name, until its end.
    private func record(
        _ handler: String, _ options: String, _ settings: [String: String] = [:], sinkCaps: String? = nil
    ) throws -> [MicHarness.Piece] {
        try MicHarness(
            settings.merging(["pace": "fast", "handler": handler, "options": options]) { $1 }, sinkCaps: sinkCaps,
            source: nil
        ).pullToEnd()
    }

    @Test("VM-1 the tone handler generates the exact sine and length at each sample rate")
    func tone() throws {
        for rate in AudioSender.sampleRates {
            let pieces = try record("tone", "frequency=997,volume=0.25,rate=\(rate),seconds=0.4")
            #expect(pieces.samples == Sine(997, rate: rate, amplitude: 0.25).samples(0, rate * 2 / 5))
            #expect(pieces.isContinuous(rate: rate) && pieces.first?.time == 0)
        }
    }

    @Test(
        "VM-1 the tone handler generates square, saw and triangle waves in two channels",
        arguments: ["square", "saw", "triangle"])
    func waves(wave: String) throws {
        let pieces = try record(
            "tone", "frequency=480,volume=1,wave=\(wave),channels=2,seconds=0.1", ["stereo": "true"])
        let samples = pieces.samples
        #expect(samples.count == 9600)
        #expect(stride(from: 0, to: 9600, by: 2).allSatisfy { samples[$0] == samples[$0 + 1] })
        let period = stride(from: 0, to: 200, by: 2).map { samples[$0] }
        switch wave {
        case "square": #expect(Set(period) == [32767, -32767] && period[0] == 32767 && period[50] == -32767)
        case "saw": #expect(period[0] == -32767 && period[50] == 0 && period == period.sorted())
        default: #expect(period[0] == -32767 && period[25] == 0 && period[50] == 32767 && period[75] == 0)
        }
    }

    @Test(
        "VM-2 invalid options are refused before anything starts",
        arguments: [
            ("tone", "rate=12345", "option rate of tone"), ("tone", "frequency=96000", "option frequency of tone"),
            ("tone", "wave=noise", "option wave of tone"), ("tone", "volume=2", "option volume of tone"),
            ("raw", "rate=8000", "option location of raw"), ("raw", "location=/none", "option location of raw"),
            ("wav", "location=/none", "option location of wav"), ("wav", "location=/tmp", "option location of wav"),
        ])
    func badOptions(handler: String, options: String, subject: String) throws {
        let error = #expect(throws: MediaGraphError.self) {
            _ = try HandlerRegistry.shared.make(MGAudioSource.self, handler, options: options)
        }
        #expect(error?.code == .invalidParameter && error?.detail.subject == subject)
    }

    @Test("VM-2 the raw handler plays a file's samples unchanged and omits an incomplete one")
    func raw() throws {
        let folder = try TemporaryFolder()
        let samples = Sine(440, rate: 16000).samples(0, 12345)
        var bytes = samples.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        bytes.append(99)
        let path = try folder.write("sound.pcm", bytes)
        let pieces = try record("raw", "location=\(path),rate=16000")
        #expect(pieces.samples == samples && pieces.isContinuous(rate: 16000))
    }

    @Test("VM-2 the wav handler plays wavenc's files to the sample, mono and stereo")
    func wav() async throws {
        let folder = try TemporaryFolder()
        for channels in [1, 2] {
            let path = folder.file("\(channels).wav")
            try await run(
                """
                virtualmic pace=fast stereo=true handler=tone options="seconds=0.7,rate=44100,channels=\(channels)" \
                ! wavenc ! filesink location="\(path)"
                """)
            let pieces = try record("wav", "location=\(path)", ["stereo": "true"])
            let expected = Sine(440, rate: 44100).samples(0, 30870).flatMap { repeatElement($0, count: channels) }
            #expect(pieces.samples == expected)
            // A mono node gets the channels mixed.
            if channels == 2 { #expect(try record("wav", "location=\(path)").samples.count == 30870) }
        }
    }

    /// Returns a WAV file of silence, with any sizes in its header and any bytes after its data.
    private static func wav(
        samples: Int, bits: Int, dataSize: UInt32? = nil, riffSize: UInt32? = nil, tail: [UInt8] = []
    ) -> [UInt8] {
        func bytes(_ value: UInt32, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt32($0 * 8)) }
        }
        let length = samples * bits / 8
        let head = bytes(16, 4) + bytes(1, 2) + bytes(1, 2) + bytes(48000, 4) + bytes(UInt32(48000 * bits / 8), 4)
        let format = Array("WAVEfmt ".utf8) + head + bytes(UInt32(bits / 8), 2) + bytes(UInt32(bits), 2)
        let data = Array("data".utf8) + bytes(dataSize ?? UInt32(length), 4) + [UInt8](repeating: 0, count: length)
        return Array("RIFF".utf8) + bytes(riffSize ?? UInt32(format.count + data.count + tail.count), 4) + format + data
            + tail
    }

    /// Plays the file with the wav handler and with stock elements. Returns the number of samples each way and the warnings.
    private func play(_ file: [UInt8]) async throws -> (samples: [Int], warnings: [String]) {
        let folder = try TemporaryFolder()
        let path = try folder.write("in.wav", file)
        let warnings = Log<String>()
        let samples = Log<Int>()
        for source in [
            "virtualmic pace=fast handler=wav options=\"location=\(path)\"", "filesrc location=\(path) ! decodebin",
            "filesrc location=\(path) ! wavparse",
        ] {
            let graph = try Graph(
                """
                \(source) ! audioconvert dithering=none ! audioresample ! audio/x-raw,format=S16LE !
                virtualspeaker handler=wav options="location=\(folder.file("%s.raw"))"
                """)
            let events = graph.events
            let reading = Task {
                for await event in events {
                    if case .warning(let report) = event { warnings.add(report.error.message) }
                }
            }
            try await graph.run()
            await reading.value
            samples.add((((try? folder.read("mixed.raw").count) ?? 44) - 44) / 2)
            try? FileManager.default.removeItem(atPath: folder.file("mixed.raw"))
        }
        return (samples.all, warnings.all)
    }

    @Test(
        "GR-13 each sample of a WAV arrives, at odd lengths and with bytes after its data too",
        arguments: [(24001, 24, 0), (24001, 24, 1), (24001, 8, 1)] + (1...7).map { (24000, 16, $0) })
    func trailingBytes(samples: Int, bits: Int, tail: Int) async throws {
        let played = try await play(
            Self.wav(samples: samples, bits: bits, tail: [UInt8](repeating: 120, count: tail)))
        #expect(played.samples == [samples, samples, samples] && played.warnings == [])
    }

    @Test(
        "GR-13 a WAV from a pipe, whose header has no length, plays completely without a warning",
        arguments: [
            (0x7FFF_F000, 0x7FFF_F024), (0x8000_0000, 0x8000_0024), (0x7FFF_F024, 0x7FFF_F048),
            (0xFFFF_FFFF, 0xFFFF_FFFF), (0, 0),
        ] as [(UInt32, UInt32)])
    func pipeHeaders(dataSize: UInt32, riffSize: UInt32) async throws {
        let played = try await play(Self.wav(samples: 24000, bits: 16, dataSize: dataSize, riffSize: riffSize))
        #expect(played.samples == [24000, 24000, 24000] && played.warnings == [])
    }

    @Test("GR-13 the raw handler refuses a WAV file instead of playing its header")
    func rawWAV() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("in.wav", Self.wav(samples: 480, bits: 16))
        let problem = try await failure(
            of: "virtualmic pace=fast handler=raw options=\"location=\(path)\" ! fakesink")
        #expect(
            problem?.hasSuffix(
                "handler=raw reads only data without a header, and this is a file of type audio/x-wav; use virtualmic handler=wav"
            ) == true)
    }

    @Test("VM-2 a truncated WAV plays to its end with a warning, and a file that isn't a WAV is an error")
    func cutOff() async throws {
        let folder = try TemporaryFolder()
        let whole = folder.file("whole.wav")
        try await run(
            "virtualmic pace=fast handler=tone options=\"seconds=1\" ! wavenc ! filesink location=\"\(whole)\"")
        let data = try Data(contentsOf: URL(fileURLWithPath: whole))
        for length in [0, 3, 8, 12, 43, 44, 45, 10001, data.count - 1] {
            let path = folder.file("cut.wav")
            try data.prefix(length).write(to: URL(fileURLWithPath: path))
            let graph = try Graph(
                "virtualmic name=mic pace=fast handler=wav options=\"location=\(path)\" ! fakesink")
            let events = graph.events
            let warnings = Log<String>()
            let reading = Task {
                for await event in events {
                    if case .warning(let report) = event { warnings.add(report.error.message) }
                }
            }
            let outcome = try? await graph.run()
            await reading.value
            if length > 45 {
                #expect(outcome != nil && warnings.all.count == 1, "\(length)")
                #expect(
                    warnings.all.first?.hasSuffix("is shorter than its header says: it is played up to its end") == true
                )
            } else {
                #expect(outcome == nil || !warnings.all.isEmpty, "\(length): neither error nor warning")
            }
        }
        try Data("no sound at all, but a long text, long enough for everybody".utf8).write(
            to: URL(fileURLWithPath: folder.file("text.wav")))
        let graph = try Graph(
            "virtualmic name=mic handler=wav options=\"location=\(folder.file("text.wav"))\" ! fakesink")
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(try #require(error))".contains("text.wav can't be played as a WAV file: "))
    }

    @Test("GR-13 a WAV behind a symbolic link plays without the warning for truncated files")
    func linked() async throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("in.wav", Self.wav(samples: 480, bits: 16))
        let link = folder.file("link.wav")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "in.wav")
        let graph = try Graph("virtualmic pace=fast handler=wav options=\"location=\(link)\" ! fakesink")
        let events = graph.events
        let warnings = Task {
            var warnings: [String] = []
            for await event in events {
                if case .warning(let report) = event { warnings.append(report.error.message) }
            }
            return warnings
        }
        try await graph.run()
        #expect(await warnings.value == [])
    }

    @Test("VM-2 a WAV or raw file without a sample is an error")
    func noSamples() async throws {
        let folder = try TemporaryFolder()
        let header = "RIFF\u{24}\0\0\0WAVEfmt \u{10}\0\0\0\u{1}\0\u{1}\0\0}\0\0\0\0\0\0\u{2}\0\u{10}\0data\0\0\0\0"
        for (handler, path) in [
            ("wav", try folder.write("empty.wav", Array(header.utf8))), ("raw", try folder.write("empty.pcm", [])),
        ] {
            let graph = try Graph(
                "virtualmic name=mic pace=fast handler=\(handler) options=location=\(path) ! fakesink")
            let error = await #expect(throws: GraphError.self) { try await graph.run() }
            #expect("\(try #require(error))".contains("contains no sound"), "\(String(describing: error))")
        }
    }

    @Test(
        "VM-2 an A-law or mu-law WAV is played, and three channels without positions are an error"
    )
    func oddFiles() async throws {
        let folder = try TemporaryFolder()
        for encoder in ["alawenc", "mulawenc"] {
            let path = folder.file("\(encoder).wav")
            try await run(
                """
                virtualmic pace=fast handler=tone options="seconds=0.5,rate=8000,volume=0.5" ! \(encoder) \
                ! wavenc ! filesink location="\(path)"
                """)
            let heard = try record("wav", "location=\(path)").samples
            let expected = Sine(440, rate: 8000, amplitude: 0.5).samples(0, 4000)
            #expect(heard.count == 4000 && zip(heard, expected).allSatisfy { abs(Int($0) - Int($1)) < 600 })
        }
        let path = try folder.write("three.wav", Self.wav(channels: 3, samples: [Int16](repeating: 1000, count: 3000)))
        let graph = try Graph("virtualmic pace=fast handler=wav options=\"location=\(path)\" ! fakesink")
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(try #require(error))".contains("3 channels without positions"))
    }

    /// Returns a WAV file with the plain header, which has no room for a channel mask.
    private static func wav(channels: Int, samples: [Int16]) -> [UInt8] {
        func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
            withUnsafeBytes(of: value.littleEndian) { Array($0) }
        }
        let data = samples.flatMap { bytes($0) }
        return Array("RIFF".utf8) + bytes(UInt32(36 + data.count)) + Array("WAVEfmt ".utf8) + bytes(UInt32(16))
            + bytes(UInt16(1)) + bytes(UInt16(channels)) + bytes(UInt32(8000)) + bytes(UInt32(16000 * channels))
            + bytes(UInt16(2 * channels)) + bytes(UInt16(16)) + Array("data".utf8) + bytes(UInt32(data.count)) + data
    }

    private func run(_ description: String) async throws {
        guard case .endOfStream = try await Graph(description).run() else {
            Issue.record("no end of stream")
            return
        }
    }
}
