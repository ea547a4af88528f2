import Foundation
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph

/// Tests files that lack a stream which a branch needs.
@Suite struct MissingStreamTests {
    private static let video = "videotestsrc num-buffers=30 ! video/x-raw,format=I420,width=64,height=48 ! vp8enc"
    private static let audio = "audiotestsrc num-buffers=50 ! vorbisenc"

    /// Writes a WebM file with one stream and returns its path.
    private func file(_ stream: String) async throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString + ".webm").path
        try await Graph("\(stream) ! webmmux ! filesink location=\(path)").run()
        return path
    }

    private struct Outcome {
        var end: GraphEnd?
        var missing: [MissingStream] = []
        var counts: [String: UInt64] = [:]
    }

    private func run(_ text: String, _ prepare: (Graph) throws -> Void = { _ in }) async throws -> Outcome {
        let graph = try Graph(text)
        try prepare(graph)
        let events = Task { [events = graph.events] in
            var missing: [MissingStream] = []
            for await case .missingStream(let stream) in events { missing.append(stream) }
            return missing
        }
        try await graph.start()
        let end = try await graph.waitUntilEnd()
        let counts = graph.progress.map { ($0.name, $0.counts.frames) }
        await graph.stop()
        return Outcome(
            end: end, missing: await events.value, counts: Dictionary(counts, uniquingKeysWith: { first, _ in first }))
    }

    private func isComplete(_ outcome: Outcome) -> Bool { if case .endOfStream = outcome.end { true } else { false } }

    @Test(
        "GR-12 without audio in the input, the muxer's audio branch ends and the file is complete",
        arguments: [
            "matroskamux", "webmmux", "mp4mux", "qtmux", "mp4mux fragment-duration=100", "mpegtsmux", "flvmux",
            "avimux",
            "oggmux", "splitmuxsink",
        ])
    func muxers(muxer: String) async throws {
        let path = try await file(Self.video)
        let output = path + ".out"
        defer { for path in [path, output] { try? FileManager.default.removeItem(atPath: path) } }
        let (videoEncoder, audioEncoder) =
            switch muxer {
            case "webmmux": ("vp8enc", "vorbisenc")
            case "oggmux": ("theoraenc", "vorbisenc")
            default: ("x264enc tune=zerolatency", "avenc_aac")
            }
        let end =
            muxer == "splitmuxsink"
            ? "splitmuxsink name=m location=\(output)" : "\(muxer) name=m ! filesink location=\(output)"
        let outcome = try await run(
            "filesrc location=\(path) ! decodebin name=d d. ! queue ! videoconvert ! \(videoEncoder) ! m.\(muxer == "splitmuxsink" ? "video" : "") "
                + "d. ! queue name=q ! audioconvert ! \(audioEncoder) ! m.\(muxer == "splitmuxsink" ? "audio_0" : "") \(end)"
        )
        #expect(isComplete(outcome))
        #expect(
            outcome.missing == [
                MissingStream(
                    source: "d", sink: "q",
                    reason: "there is no audio stream: d produces video/x-raw; q accepts audio/x-raw")
            ])
        // The file has no empty track, because players refuse files with one.
        let probe = try ChildProcess.run(
            "/usr/bin/env",
            ["ffprobe", "-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0", output])
        #expect(
            probe.status == 0 && Set(probe.output.split { ",\n".contains($0) }) == ["video"], "\(probe)")
        let frames = try await run("filesrc location=\(output) ! decodebin ! fakesink name=s")
        #expect(frames.counts["s"] == 30)
    }

    @Test("GR-12 a muxer that takes no stream of the input is reported with what it takes")
    func muxerThatTakesNothing() async throws {
        let path = try await file(Self.video)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let outcome = try await run("filesrc location=\(path) ! matroskademux name=d ! flvmux name=m ! fakesink name=s")
        #expect(isComplete(outcome))
        #expect(outcome.counts["s"] == 0)
        #expect(
            outcome.missing.map(\.reason) == [
                "no stream matches: d produces video/x-vp8; m accepts video/x-flash-video, video/x-flash-screen, "
                    + "video/x-vp6-flash, video/x-vp6-alpha, …; use another muxer, or decode and re-encode the stream"
            ])
    }

    @Test("GR-12 a decoder for another codec is reported with a hint to decodebin")
    func otherDecoder() async throws {
        let path = try await file(Self.video)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let outcome = try await run("filesrc location=\(path) ! matroskademux name=d ! vp9dec name=v ! fakesink name=s")
        #expect(
            outcome.missing.map(\.reason) == [
                "there is no other video stream: d produces video/x-vp8; v accepts video/x-vp9; replace v with decodebin"
            ])
    }

    @Test("GR-12 a stream that needs a muxer's pad is reported with the pad's name")
    func muxerPad() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString + ".webm").path
        try await Graph(
            "\(Self.video) ! queue ! m. \(Self.audio) ! queue ! m.audio_0 webmmux name=m ! filesink location=\(path)"
        ).run()
        let output = path + ".out"
        defer { for path in [path, output] { try? FileManager.default.removeItem(atPath: path) } }
        let outcome = try await run(
            """
            filesrc location=\(path) ! matroskademux name=d d. ! queue ! m. d. ! queue name=q ! m.
            webmmux name=m ! filesink location=\(output)
            """)
        let reason = try #require(outcome.missing.first?.reason)
        #expect(reason.hasSuffix("; to mux audio/x-vorbis, name the muxer's pad: ! m.audio_0"), "\(reason)")
    }

    @Test(
        "GR-12 a stream that needs conversion is an error with the converter, not a missing stream",
        arguments: [
            (
                "audioconvert ! audio/x-raw,rate=16000",
                "d can't be linked to audioconvert0: d produces rate=44100; audioconvert0 accepts rate=16000; "
                    + "put audioresample between them"
            ),
            (
                "queue name=q ! audio/x-raw,rate=16000,format=S24LE",
                "d can't be linked to q: d produces format=F32LE,rate=44100; q accepts format=S24LE,rate=16000; "
                    + "put audioconvert ! audioresample between them"
            ),
        ])
    func conversion(branch: String, message: String) async throws {
        let path = try await file(Self.audio)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let graph = try Graph("filesrc location=\(path) ! decodebin name=d ! \(branch) ! fakesink")
        let errors = Log<String>()
        let run = Task { do { _ = try await graph.run() } catch { errors.add("\(error)") } }
        let isReported = try await eventually {
            let texts = errors.all + [await graph.formatConflict].compactMap(\.self)
            return texts.contains { $0.replacing(/audioconvert\d+/, with: "audioconvert0").contains(message) }
        }
        await graph.stop()
        await run.value
        #expect(isReported, "\(errors.all)")
    }

    @Test(
        "GR-12 without audio in the input, the audio branch ends and the other has all frames",
        arguments: [
            "fakesink", "level ! fakesink", "audioresample ! wavenc ! fakesink", "virtualspeaker handler=count",
            "tee name=t t. ! queue ! fakesink t. ! queue ! vorbisenc ! oggmux ! fakesink",
            "audiomixer name=m ! fakesink audiotestsrc num-buffers=10 ! m.",
            "s.user_bob virtualspeaker name=s handler=count audiotestsrc num-buffers=10 ! s.user_carol",
        ])
    func ends(text: String) async throws {
        let path = try await file(Self.video)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let outcome = try await run(
            "filesrc location=\(path) ! decodebin name=d d. ! queue ! rawdatapipe name=frames handler=count "
                + "d. ! queue ! audioconvert ! \(text)")
        #expect(isComplete(outcome))
        #expect(outcome.missing.count == 1 && outcome.counts["frames"] == 30, "\(outcome)")
    }

    @Test(
        "GR-12 a missing stream's branch ends also behind demuxers that don't report it",
        arguments: ["flvdemux", "parsebin", "decodebin3"])
    func silentDemuxers(demuxer: String) async throws {
        let path = try await file(Self.video)
        defer { for path in [path, path + ".out"] { try? FileManager.default.removeItem(atPath: path) } }
        let muxer = demuxer == "flvdemux" ? "flvmux" : "mp4mux"
        _ = try await run(
            "filesrc location=\(path) ! decodebin ! videoconvert ! x264enc ! h264parse ! \(muxer) ! filesink location=\(path).out"
        )
        let (videoDecoder, audioDecoder) =
            demuxer == "decodebin3" ? ("videoconvert", "audioconvert") : ("h264parse ! avdec_h264", "aacparse")
        let isInTask = Log<Bool>()
        let outcome = try await run(
            "filesrc location=\(path).out ! \(demuxer) name=d d. ! queue max-size-buffers=5 ! \(videoDecoder) ! fakesink name=s "
                + "d. ! queue ! \(audioDecoder) ! fakesink name=silent"
        ) { graph in
            // Called on the thread that then ends the branch, for which it may change a muxer's state.
            graph.listen(
                Graph.Listener { event in
                    if case .missingStream = event { isInTask.add(withUnsafeCurrentTask { $0 != nil }) }
                })
        }
        #expect(isComplete(outcome) && outcome.counts == ["s": 30, "silent": 0], "\(outcome)")
        #expect(outcome.missing.count == 1, "\(outcome.missing)")
        #expect(isInTask.all == [false], "a branch was ended on one of Swift's cooperative threads")
    }

    @Test("GR-12 a stream that the input delivers only after a pause isn't reported as missing")
    func pause() async throws {
        let folder = try TemporaryFolder()
        let (film, pipe) = (folder.file("film.mkv"), folder.file("pipe"))
        try await Graph(
            """
            videotestsrc num-buffers=120 ! video/x-raw,format=I420,width=64,height=48 ! x264enc ! m.
            audiotestsrc num-buffers=100 timestamp-offset=700000000 ! avenc_aac ! m.
            matroskamux name=m ! filesink location=\(film)
            """
        ).run()
        let bytes = try Data(contentsOf: URL(filePath: film))
        try #require(mkfifo(pipe, 0o600) == 0)
        // If the graph fails, this reader keeps the writer from being killed by SIGPIPE.
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let hasVideo = Atomic<Bool>(false)
        Thread.detachNewThread {
            guard let writer = FileHandle(forWritingAtPath: pipe) else { return }
            // This part only contains video, which its sink holds until audio arrives.
            try? writer.write(contentsOf: bytes.prefix(bytes.count / 10))
            // The graph gets nothing more until it has read and played all of that.
            _ = waitUntil {
                var unread: CInt = 0
                return hasVideo.load(ordering: .relaxed) && ioctl(reader, UInt(FIONREAD), &unread) == 0 && unread == 0
            }
            try? writer.write(contentsOf: bytes.dropFirst(bytes.count / 10))
            try? writer.close()
        }
        let outcome = try await run(
            "uridecodebin3 uri=file://\(pipe) name=d d. ! videoconvert ! fakesink name=p d. ! audioconvert ! fakesink name=s"
        ) { graph in
            try graph.element("p").staticPad("sink")?.observeBuffers { _ in hasVideo.store(true, ordering: .relaxed) }
        }
        #expect(isComplete(outcome) && outcome.missing == [], "\(outcome)")
        #expect(outcome.counts["p"] == 120 && (outcome.counts["s"] ?? 0) > 0, "\(outcome)")
    }

    @Test("GR-12 a file without any usable stream is read to its end, and other inputs go on")
    func untaken() async throws {
        let (videoFile, audioFile) = (try await file(Self.video), try await file(Self.audio))
        defer { for path in [videoFile, audioFile] { try? FileManager.default.removeItem(atPath: path) } }
        for alone in ["fakesink name=s", "rawdatapipe name=s handler=count"] {
            let outcome = try await run("filesrc location=\(audioFile) ! decodebin ! videoconvert ! \(alone)")
            #expect(isComplete(outcome) && outcome.missing.count == 1 && outcome.counts["s"] == 0, "\(outcome)")
        }
        let mixed = try await run(
            "filesrc location=\(videoFile) ! decodebin ! videoconvert ! c. compositor name=c ! fakesink name=s "
                + "filesrc location=\(audioFile) ! decodebin ! videoconvert ! c.")
        #expect(isComplete(mixed) && mixed.missing.count == 1 && mixed.counts["s"]! >= 30, "\(mixed)")
    }

    @Test("GR-12 a pad that a demuxer doesn't have is reported with the pads that it has")
    func pad() async throws {
        let path = try await file(Self.video)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let outcome = try await run(
            "filesrc location=\(path) ! matroskademux name=d d.video_0 ! fakesink name=a d.video_1 ! fakesink name=b")
        #expect(isComplete(outcome) && outcome.counts == ["a": 30, "b": 0])
        #expect(outcome.missing.map(\.reason) == ["d has no pad video_1; it has video_0"])
    }

    @Test("GR-13 a sink's buffers are counted at its pad, even if a muxer seeks back to finish its file")
    func counts() async throws {
        let graph = try Graph(
            "videotestsrc num-buffers=50 ! video/x-raw,width=64,height=48 ! x264enc ! mp4mux ! fakesink name=s")
        let seen = Log<Int>()
        try graph.element("s").staticPad("sink")!.observeBuffers { _ in seen.add(1) }
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        let counted = graph.progress.first { $0.name == "s" }?.counts.frames
        await graph.stop()
        #expect(seen.all.count > 50 && counted == UInt64(seen.all.count))
    }

    @Test(
        "GR-13 a sink with its own statistics is counted like any other",
        arguments: ["srtsink wait-for-connection=false mode=listener uri=srt://127.0.0.1:0"])
    func ownStatistics(sink: String) async throws {
        let graph = try Graph("audiotestsrc num-buffers=20 ! \(sink) name=s")
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        let row = graph.progress.first { $0.name == "s" }
        await graph.stop()
        #expect(row?.counts.frames == 20 && row?.endsBranch == true)
    }
}
