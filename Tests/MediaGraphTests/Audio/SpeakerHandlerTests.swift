import Foundation
import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph

/// Tests the speaker handlers that a description can name.
@Suite struct SpeakerHandlerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs the graph and returns the levels that it posts.
    private func levels(_ description: String) async throws -> [(stream: String, rms: Double, peak: Double)] {
        let graph = try Graph(description)
        let events = graph.events
        try await graph.run()
        var levels: [(String, Double, Double)] = []
        for await event in events {
            guard case .element(_, let message) = event, message.name == "mediagraph-level" else { continue }
            levels.append((message["user"] ?? message["stream"]!, message["rms"]!, message["peak"]!))
        }
        return levels
    }

    @Test("SP-1 the level handler reports a full-scale sine as 0 dB peak and -3.01 dB RMS")
    func level() async throws {
        let found = try await levels(
            """
            virtualspeaker name=s handler=level options="interval=100"
            audiotestsrc num-buffers=100 samplesperbuffer=480 freq=1000 volume=1 ! audio/x-raw,rate=48000,channels=1 ! s.user_full
            audiotestsrc num-buffers=100 samplesperbuffer=480 freq=1000 volume=0.1 ! audio/x-raw,rate=48000,channels=1 ! s.user_low
            audiotestsrc num-buffers=100 samplesperbuffer=480 wave=silence ! audio/x-raw,rate=48000,channels=1 ! s.user_none
            """)
        for (user, rms, peak) in [("full", -3.0103, 0.0), ("low", -23.0103, -20.0), ("none", -700, -350)] {
            let measured = found.filter { $0.stream == user }
            #expect(measured.count == 10)
            for level in measured {
                #expect(abs(level.rms - rms) < 0.01, "\(user): \(level)")
                #expect(abs(level.peak - peak) < 0.01, "\(user): \(level)")
            }
        }
        #expect(found.count { $0.stream == "mixed" } == 10)
    }

    @Test("SP-1 the level handler reports the same values as GStreamer's level element")
    func againstGStreamer() async throws {
        let samples = noiseSamples(48_000, seed: 9)
        let source = try folder.source("a", samples)
        let ours = try await levels("virtualspeaker name=s handler=level \(source) ! s.user_a").filter {
            $0.stream == "a"
        }
        let graph = try Graph("\(source) ! level interval=100000000 ! fakesink sync=false")
        let events = graph.events
        try await graph.run()
        var theirs: [String] = []
        for await event in events {
            if case .element(_, let message) = event, message.name == "level" {
                theirs.append(message.text("rms") ?? "")
            }
        }
        #expect(ours.count == 10)
        try #require(theirs.count >= 10)
        for (mine, text) in zip(ours, theirs) {
            let number = try #require(Double(text.filter { "-0123456789.".contains($0) }))
            #expect(abs(number - mine.rms) < 1e-6)
        }
    }

    @Test("SP-1 the wav handler writes a file for each stream, sample for sample")
    func wav() async throws {
        let (anna, bob, share) = (noiseSamples(9600, seed: 1), noiseSamples(4800, seed: 2), noiseSamples(960, seed: 3))
        let graph = try Graph(
            """
            virtualspeaker name=s handler=wav options="location=\(folder.file("call-%s.wav"))"
            \(folder.source("a", anna)) ! s.user_anna
            \(folder.source("b", bob)) ! s.user_bob_40home
            \(folder.source("c", share)) ! s.shared
            """)
        try await graph.run()
        #expect(
            folder.contents.filter { $0.hasSuffix("wav") } == [
                "call-mixed.wav", "call-shared.wav", "call-user_anna.wav", "call-user_bob_40home.wav",
            ])
        func read(_ stream: String) throws -> [Int16] {
            try FFmpeg.run("-i", folder.file("call-\(stream).wav"), "-f", "s16le", folder.file("out.raw"))
            return try folder.read("out.raw").withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
        }
        #expect(try read("user_anna") == anna)
        #expect(try read("user_bob_40home") == bob)
        #expect(try read("shared") == share)
        let sum = anna.indices.map { Int16(clamping: Int(anna[$0]) + ($0 < bob.count ? Int(bob[$0]) : 0)) }
        #expect(try read("mixed") == sum)
        let probe = try ChildProcess.run(
            "ffprobe",
            [
                "-v", "error", "-show_entries", "stream=codec_name,sample_rate,channels,duration_ts", "-of", "csv=p=0",
                folder.file("call-mixed.wav"),
            ])
        #expect(probe.output.contains("pcm_s16le,48000,1,9600"))
    }

    @Test("SP-1 the wav handler leaves complete files when the graph is stopped")
    func stopped() async throws {
        let graph = try Graph(
            """
            virtualspeaker name=s handler=wav options="location=\(folder.file("live-%s.wav"))"
            audiotestsrc is-live=true samplesperbuffer=480 ! audio/x-raw,rate=48000,channels=1 ! s.user_anna
            """)
        let node = try graph.virtualSpeaker("s")
        try await graph.start()
        #expect(waitUntil { node.statistics.frames > 20 })
        await graph.stop()
        let size = try folder.read("live-mixed.wav").count
        let probe = try ChildProcess.run(
            "ffprobe",
            ["-v", "error", "-show_entries", "stream=duration_ts", "-of", "csv=p=0", folder.file("live-mixed.wav")])
        #expect(Int(probe.output.trimmingCharacters(in: .whitespacesAndNewlines)) == (size - 44) / 2)
    }

    @Test("SP-1 the wav handler ends the graph with the file's name when the disk is full")
    func fullDisk() async throws {
        // One of the three files can't be written, which ends the handler. The source sends more than the queue between
        // speaker and handler holds, so a speaker that still waited for the handler would block.
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("full-mixed.wav"), withDestinationPath: "/dev/full")
        let failure = try await failure(
            of: """
                virtualmic handler=tone options="seconds=60" pace=fast
                ! virtualspeaker handler=wav options="location=\(folder.file("full-%s.wav"))"
                """)
        #expect(
            failure?.contains("full-mixed.wav: ") == true && failure?.contains("No space left") == true,
            "\(failure ?? "")")
    }

    @Test("SP-1 the wav handler refuses a location without %s and a missing folder")
    func refused() async throws {
        let nameless = try await failure(
            of: "audiotestsrc num-buffers=1 ! virtualspeaker handler=wav options=location=x.wav")
        #expect(nameless?.contains("%s") == true)
        let nowhere = try await failure(
            of: "audiotestsrc num-buffers=10 ! virtualspeaker handler=wav options=location=/nowhere/x-%s.wav")
        #expect(nowhere?.contains("/nowhere/x-") == true, "\(nowhere ?? "it ended well")")
    }

    @Test("GR-11 the wav handler keeps its finished file when sound goes on after a seek")
    func seekBack() async throws {
        let source = try folder.source("a", noiseSamples(9600, seed: 1))
        let graph = try Graph(
            """
            virtualspeaker name=s handler=wav options="location=\(folder.file("call-%s.wav"))"
            \(source) ! s.user_anna
            """)
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        let first = try folder.read("call-user_anna.wav")
        #expect(graph.pipeline.seek(to: .zero))
        #expect(waitUntil { folder.contents.contains("call-user_anna-2.wav") })
        await graph.stop()
        #expect(try folder.read("call-user_anna.wav") == first)
    }
}
