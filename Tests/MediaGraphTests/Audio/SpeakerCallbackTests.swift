import CMediaGraphABI
import Foundation
import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests a speaker's handlers and editors: keeping blocks, blocking, editing, failing, and the stream's status.
@Suite struct SpeakerCallbackTests {
    private let folder: TemporaryFolder

    init() throws {
        try Nodes.register()
        folder = try TemporaryFolder()
    }

    @Test("SP-4 kept blocks stay unchanged after the graph is gone")
    func kept() async throws {
        let samples = noiseSamples(48_000)
        var graph: Graph? = try Graph(
            "virtualspeaker name=s memory-mode=heap \(folder.source("a", samples)) ! s.user_anna")
        var kept: [OwnedAudioFrame] = []
        let audio = try graph!.virtualSpeaker("s").audio
        try await graph!.start()
        for try await block in audio where block.stream.user != nil { kept.append(block.frame) }
        await graph!.stop()
        graph = nil
        #expect(try kept.flatMap { try $0.samples() } == samples)
    }

    @Test("SP-4 a borrowed block can be retained, and is then the stream's own buffer")
    func retain() async throws {
        let graph = try Graph("virtualspeaker name=s \(folder.source("a", noiseSamples(4800))) ! s.user_anna")
        let kept = Log<OwnedAudioFrame>()
        try graph.virtualSpeaker("s").receive { frame, stream in
            guard stream != .mixed else { return }
            let canRetain = frame.canRetain
            #expect(canRetain)
            kept.add(try frame.retain())
        }
        try await graph.run()
        #expect(try kept.all.flatMap { try $0.samples() } == noiseSamples(4800))
    }

    @Test("SP-3 with a dropping queue a blocked handler blocks no stream, and losses are counted")
    func blocked() async throws {
        let gate = BlockingMonitor(false)
        let graph = try Graph(
            """
            virtualspeaker name=s backpressure=drop-old max-frames=4 ! fakesink name=f async=false
            audiotestsrc num-buffers=200 samplesperbuffer=480 ! audio/x-raw,rate=48000,channels=1 ! s.user_anna
            """)
        let node = try graph.virtualSpeaker("s")
        let calls = Atomic<Int>(0)
        try node.receive { _, _ in
            calls.add(1, ordering: .relaxed)
            _ = gate.wait { $0 ? true : nil }
        }
        let sink = try graph.element("f")
        try await graph.start()
        // All of the mix except the last block, which waits until the handler has received it.
        #expect(
            waitUntil {
                let stats = try? sink.property("stats", as: Structure.self)
                return (stats?["rendered", as: UInt64.self] ?? 0) >= 199
            })
        #expect(try await eventually { calls.load(ordering: .relaxed) == 1 })
        gate.withLock { $0 = true }
        _ = try await graph.waitUntilEnd()
        let counts = node.statistics
        #expect(counts.dropped > 0)
        #expect(counts.frames + counts.dropped == 400)
        #expect(counts.frames == UInt64(calls.load(ordering: .relaxed)))
        await graph.stop()
    }

    @Test("SP-5 an edited mix reaches the handler and src, and the one-way streams stay unedited")
    func editing() async throws {
        let samples = noiseSamples(4800)
        let graph = try Graph(
            "virtualspeaker name=s ! virtualspeaker name=t \(folder.source("a", samples)) ! s.user_anna")
        let notes = Notes()
        try graph.virtualSpeaker("s").attach(NoteTaker(notes: notes))
        try graph.virtualSpeaker("s").edit { frame in
            var samples = frame.mutableSamples
            for index in samples.indices { samples[index] = -samples[index] }
            return .pass
        }
        let heard = try await Heard(graph, speaker: "t")
        let edited = samples.map { -$0 }
        #expect(notes.mixed == edited)
        #expect(notes.samples(user: "anna") == samples)
        #expect(heard.mixed == edited)
    }

    @Test("SP-5 an editor's dropped block becomes silence and is counted; its error ends the graph")
    func dropping() async throws {
        let graph = try Graph("virtualspeaker name=s \(folder.source("a", noiseSamples(4800))) ! s.user_anna")
        try graph.virtualSpeaker("s").edit { _ in .drop }
        let heard = try await Heard(graph)
        #expect(heard.mixed == [Int16](repeating: 0, count: 4800))
        #expect(try graph.virtualSpeaker("s").statistics.dropped == 10)

        let failing = try Graph("virtualspeaker name=s \(folder.source("b", noiseSamples(4800))) ! s.user_anna")
        try failing.virtualSpeaker("s").edit { _ in throw MediaGraphError.noAudio(.init("nothing to edit")) }
        await #expect(throws: GraphError.self) { try await failing.run() }
    }

    @Test("SP-3 a handler's error ends the graph with the handler's name and the reason")
    func failing() async throws {
        let graph = try Graph("virtualspeaker name=s \(folder.source("a", noiseSamples(48_000))) ! s.user_anna")
        try graph.virtualSpeaker("s").receive { _, _ in throw MediaGraphError.noAudio(.init("not my cup of tea")) }
        do {
            try await graph.run()
            Issue.record("the graph ended without an error")
        } catch {
            #expect("\(error)".contains("not my cup of tea"), "\(error)")
            #expect("\(error)".contains("closure"), "\(error)")
        }
    }

    @Test(
        "SE-4 `on-error` decides what a block costs whose handler throws",
        arguments: [FailurePolicy.pass, .drop, .detach])
    func failingBlocks(policy: FailurePolicy) async throws {
        let graph = try Graph(
            "virtualspeaker name=s on-error=\(policy.nick) \(folder.source("a", noiseSamples(4800))) ! s.user_anna")
        let calls = Log<String>()
        let node = try graph.virtualSpeaker("s")
        try node.receive { _, stream in
            calls.add(stream.kind)
            throw MediaGraphError.noAudio(.init("not my cup of tea"))
        }
        let events = graph.events
        try await graph.run()
        var warnings: [String] = []
        for await case .warning(let warning) in events { warnings.append("\(warning)") }
        #expect(warnings.count == 1, "\(warnings)")
        let warning = try #require(warnings.first)
        #expect(warning.contains("closure failed on") && warning.contains("not my cup of tea"), "\(warning)")
        let counts = node.statistics
        // Anna's file is one block, and the mix has ten.
        #expect(calls.all.count == (policy == .detach ? 1 : 11))
        #expect(counts.failed == (policy == .detach ? 1 : 11))
        #expect(counts.dropped == (policy == .drop ? 11 : 0) && counts.frames == (policy == .drop ? 0 : 11))
    }

    @Test("SE-4 a block whose editor throws goes on, becomes silence, or is the last edited, as `on-error` says")
    func failingEditor() async throws {
        let samples = noiseSamples(4800)
        for policy in [FailurePolicy.pass, .drop, .detach] {
            let graph = try Graph(
                "virtualspeaker name=s on-error=\(policy.nick) \(folder.source("a", samples)) ! s.user_anna")
            let calls = Log<Bool>()
            try graph.virtualSpeaker("s").edit { _ in
                calls.add(true)
                throw MediaGraphError.noAudio(.init("nothing to edit"))
            }
            let heard = try await Heard(graph)
            #expect(heard.mixed == (policy == .drop ? [Int16](repeating: 0, count: 4800) : samples))
            #expect(calls.all.count == (policy == .detach ? 1 : 10))
            let counts = try graph.virtualSpeaker("s").statistics
            #expect(counts.failed == (policy == .detach ? 1 : 10) && counts.dropped == (policy == .drop ? 10 : 0))
        }
    }

    @Test("SP-1 a stream's status is on before its first block and off after its last")
    func status() async throws {
        let graph = try Graph("virtualspeaker name=s \(folder.source("a", noiseSamples(960))) ! s.user_anna")
        let notes = Notes()
        try graph.virtualSpeaker("s").attach(NoteTaker(notes: notes))
        try await graph.run()
        let log = notes.log.all
        #expect(Set(log) == ["anna on", "anna off", "mixed on", "mixed off", "finish"])
        #expect(log.last == "finish")
        #expect(log.firstIndex(of: "anna on")! < log.firstIndex(of: "anna off")!)
    }
}
