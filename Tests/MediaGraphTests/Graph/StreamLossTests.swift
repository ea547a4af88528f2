import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph

/// Tests the reports of data that is lost while the graph runs on.
@Suite struct StreamLossTests {
    private let folder: TemporaryFolder
    init() throws { folder = try TemporaryFolder() }

    /// Runs a graph to its end and returns the losses that it reports before it is stopped.
    private func losses(_ text: String, frames: UInt64? = nil) async throws -> [StreamLoss] {
        let graph = try Graph(text)
        if let frames { try graph.endAfter(frames: frames) }
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        let losses = graph.streamLosses
        await graph.stop()
        return losses
    }

    /// Writes JPEG frames to an AVI file, 30 a second. Returns the file's path.
    private func movie(frames: Int) async throws -> String {
        let path = folder.file("movie.avi")
        try await Graph(
            """
            videotestsrc num-buffers=\(frames) ! video/x-raw,width=64,height=48,framerate=30/1 ! jpegenc \
            ! avimux ! filesink location=\(path)
            """
        ).run()
        return path
    }

    @Test("GR-13 an image file that can't be decoded is counted, and the others are shown")
    func undecodable() async throws {
        let pictures = folder.file("p%d.jpg")
        try await Graph("videotestsrc num-buffers=5 ! jpegenc ! multifilesink location=\(pictures)").run()
        let play = "multifilesrc location=\(pictures) caps=image/jpeg,framerate=5/1 ! jpegdec name=d ! fakesink"
        #expect(try await losses(play) == [])
        try Data(repeating: 7, count: 3000).write(to: URL(filePath: folder.file("p2.jpg")))
        let found = try await losses(play)
        #expect(found == [.undecodablePictures(decoder: "d", count: 1, of: 5)])
        #expect(found.first?.description == "d could not decode 1 of 5 pictures")
    }

    @Test("GR-13 a frame that can't be decoded is counted, though its decoder treats it like a late one")
    func undecodableInFile() async throws {
        let path = try await movie(frames: 30)
        var bytes = try Data(contentsOf: URL(filePath: path))
        // The eleventh frame, after the marker that each frame starts with.
        var begin = bytes.startIndex
        for _ in 0...10 {
            begin = try #require(bytes.range(of: Data([0xFF, 0xD8, 0xFF, 0xE0]), in: begin + 1..<bytes.endIndex))
                .lowerBound
        }
        bytes.replaceSubrange(begin..<begin + 400, with: Data(repeating: 0, count: 400))
        try bytes.write(to: URL(filePath: path))
        let found = try await losses("filesrc location=\(path) ! avidemux ! jpegdec name=d ! fakesink")
        #expect(found == [.undecodablePictures(decoder: "d", count: 1, of: 30)])
    }

    @Test("GR-13 a udpsink that had nobody to send to is reported, and one that sent isn't")
    func unsent() async throws {
        let text = "videotestsrc num-buffers=3 ! video/x-raw,width=16,height=16 !"
        // Without clients, as when no host name could be resolved.
        #expect(try await losses("\(text) udpsink name=u clients=\"\"") == [.unsent(sink: "u")])
        #expect(try await losses("\(text) multiudpsink name=u") == [.unsent(sink: "u")])
        #expect(try await losses("\(text) udpsink host=127.0.0.1 port=9") == [])
        #expect(try await losses("videotestsrc num-buffers=0 ! udpsink clients=\"\"") == [])
    }

    @Test("GR-13 an image that is read in several buffers counts as one frame")
    func pieces() async throws {
        let picture = folder.file("a.png")
        try await Graph("videotestsrc num-buffers=1 ! pngenc ! filesink location=\(picture)").run()
        #expect(try await losses("filesrc location=\(picture) blocksize=100 ! pngdec ! fakesink") == [])
    }

    @Test("GR-13 an input that ends before its declared duration is reported, and a complete one isn't")
    func truncated() async throws {
        let whole = folder.file("whole.mov")
        let cut = folder.file("cut.mov")
        try await Graph(
            """
            videotestsrc num-buffers=90 ! video/x-raw,width=64,height=48,framerate=30/1 ! jpegenc \
            ! qtmux faststart=true ! filesink location=\(whole)
            """
        ).run()
        let bytes = try Data(contentsOf: URL(filePath: whole))
        try bytes.prefix(bytes.count * 2 / 3).write(to: URL(filePath: cut))
        #expect(try await losses("filesrc location=\(whole) ! decodebin ! fakesink") == [])
        #expect(try await losses("filesrc location=\(whole) ! decodebin ! videoconvert ! fakesink", frames: 10) == [])
        for demuxer in ["decodebin", "qtdemux", "queue ! qtdemux"] {
            let found = try await losses("filesrc location=\(cut) ! \(demuxer) ! fakesink")
            guard case .truncatedInput(cut, let end, let duration) = found.first else {
                Issue.record("\(demuxer): \(found)")
                return
            }
            #expect(found.count == 1 && duration.seconds == 3 && (1.5...2.1).contains(end.seconds), "\(end)")
        }
    }

    @Test("GR-13 input from a pipe, whose size isn't known, is reported as truncated if it ends early")
    func truncatedPipe() async throws {
        let path = folder.file("whole.mkv")
        try await Graph(
            """
            videotestsrc num-buffers=90 ! video/x-raw,width=64,height=48,framerate=30/1 ! jpegenc ! matroskamux
            ! filesink location=\(path)
            """
        ).run()
        let whole = try Data(contentsOf: URL(filePath: path))
        for (data, limit, count) in [
            (whole, "", 0), (whole.prefix(whole.count * 2 / 3), "", 1),
            // A limit that the user has set isn't a loss.
            (whole, "num-buffers=4", 0),
        ] {
            let pipe = Pipe()
            let writer = pipe.fileHandleForWriting
            Thread.detachNewThread {
                try? writer.write(contentsOf: data)
                try? writer.close()
            }
            let reader = pipe.fileHandleForReading
            #expect(
                try await losses("fdsrc \(limit) fd=\(reader.fileDescriptor) ! matroskademux ! fakesink").count == count
            )
            // Reads the rest; otherwise the writer would be killed by SIGPIPE.
            _ = try reader.readToEnd()
            try reader.close()
        }
    }

    @Test("GR-13 a truncated film with audio is reported wherever it is cut off", arguments: [51, 60, 66, 80, 90])
    func truncatedAnywhere(percent: Int) async throws {
        let (whole, cut) = (folder.file("whole.mp4"), folder.file("cut.mp4"))
        try await Graph(
            """
            mp4mux name=m faststart=true ! filesink location=\(whole)
            videotestsrc num-buffers=150 pattern=snow ! video/x-raw,width=64,height=48,framerate=30/1,format=I420
            ! x264enc tune=zerolatency ! h264parse ! queue ! m.
            audiotestsrc num-buffers=250 samplesperbuffer=960 ! audio/x-raw,rate=48000 ! avenc_aac ! queue ! m.
            """
        ).run()
        let bytes = try Data(contentsOf: URL(filePath: whole))
        try bytes.prefix(bytes.count * percent / 100).write(to: URL(filePath: cut))
        for demuxer in ["qtdemux", "decodebin"] {
            #expect(try await losses("filesrc location=\(cut) ! \(demuxer) ! fakesink").count == 1, "\(demuxer)")
            #expect(try await losses("filesrc location=\(whole) ! \(demuxer) ! fakesink") == [], "\(demuxer)")
        }
    }

    @Test(
        "GR-13 an input isn't reported as truncated if an element wants no more data",
        arguments: [
            "qtdemux ! fakesink num-buffers=10", "qtdemux ! identity eos-after=10 ! fakesink",
            "decodebin ! queue ! fakesink num-buffers=10",
        ])
    func wantsNoMore(rest: String) async throws {
        // The file's index is at its end and is read first.
        let movie = folder.file("movie.mov")
        try await Graph(
            """
            videotestsrc num-buffers=300 ! video/x-raw,width=64,height=48,framerate=30/1 ! jpegenc \
            ! qtmux ! filesink location=\(movie)
            """
        ).run()
        #expect(try await losses("filesrc location=\(movie) ! \(rest)") == [])
    }

    @Test(
        "GR-13 a complete file isn't reported as truncated",
        arguments: [
            ("theoraenc", "vorbisenc", "oggmux"), ("vp8enc", "vorbisenc", "matroskamux"),
            ("jpegenc", "identity", "avimux"),
        ])
    func complete(videoEncoder: String, audioEncoder: String, muxer: String) async throws {
        let path = folder.file("whole")
        try await Graph(
            """
            \(muxer) name=m ! filesink location=\(path)
            videotestsrc num-buffers=60 ! video/x-raw,width=64,height=48,framerate=30/1,format=I420 ! \(videoEncoder) ! queue ! m.
            audiotestsrc num-buffers=100 samplesperbuffer=960 ! audio/x-raw,rate=48000,channels=2 ! audioconvert ! \(audioEncoder)
            ! queue ! m.
            """
        ).run()
        #expect(try await losses("filesrc location=\(path) ! parsebin ! fakesink") == [])
        #expect(try await losses("filesrc location=\(path) ! decodebin ! fakesink") == [])
    }

    @Test("GR-13 frames that QoS or a range skips aren't reported as undecodable")
    func skipped() async throws {
        let movie = try await movie(frames: 60)
        let play = "filesrc location=\(movie) ! avidemux ! jpegdec name=d"
        let late = try Graph("\(play) ! identity name=i sleep-time=60000 ! fakesink name=s sync=true qos=true")
        try await late.start()
        _ = try await late.waitUntilEnd()
        let shown = late.progress.first { $0.name == "s" }?.counts.frames ?? 60
        #expect(shown < 60, "QoS has skipped no frame")
        #expect(late.streamLosses == [])
        await late.stop()
        let part = try Graph("\(play) ! fakesink")
        try part.setMediaRange(from: ClockTime(nanoseconds: 500_000_000), to: ClockTime(nanoseconds: 1_000_000_000))
        try await part.start()
        _ = try await part.waitUntilEnd()
        #expect(part.streamLosses == [])
        await part.stop()
    }

    @Test("GR-13 a device that delivers only silence is reported")
    func silence() async throws {
        let found = try await losses("alsasrc name=mic device=null num-buffers=3 ! fakesink")
        #expect(found == [.silence(source: "mic")])
        #expect(found.first?.description.hasPrefix("mic was silent throughout") == true)
        #expect(try await losses("audiotestsrc wave=silence num-buffers=3 ! fakesink") == [])
    }

    @Test(
        "GR-13 silence is recognized in each sample format",
        arguments: ["S16LE", "U8", "S24LE", "S24_32BE", "F32LE", "F64BE", "U16LE"])
    func silence(format: String) async throws {
        for (wave, isSilent) in [("silence", true), ("sine", false)] {
            let graph = try Graph(
                "audiotestsrc name=s wave=\(wave) num-buffers=3 ! audio/x-raw,format=\(format) ! fakesink")
            let detector = try #require(try graph.element("s").staticPad("src")).detectSilence()
            #expect(!detector.isSilent)
            try await graph.run()
            #expect(detector.isSilent == isSilent)
        }
    }

    @Test("GR-13 an error about an input's type names the input")
    func inputNamed() async throws {
        let notes = folder.file("notes.txt")
        try Data("hello there, this is a text\n".utf8).write(to: URL(filePath: notes))
        let error = await #expect(throws: GraphError.self) {
            try await Graph("filesrc location=\(notes) ! decodebin ! fakesink").run()
        }
        #expect("\(try #require(error))".contains("(reading \(notes))"), "\(String(describing: error))")
    }

    @Test(
        "GR-13 an MP4 file without an index is an error that gives possible reasons",
        arguments: ["qtdemux", "decodebin"])
    func withoutIndex(demuxer: String) async throws {
        let (whole, cut) = (folder.file("whole.mp4"), folder.file("cut.mp4"))
        try await Graph("videotestsrc num-buffers=30 ! x264enc ! mp4mux ! filesink location=\(whole)").run()
        let bytes = try Data(contentsOf: URL(filePath: whole))
        try bytes.prefix(bytes.count / 2).write(to: URL(filePath: cut))
        let error = await #expect(throws: GraphError.self) {
            try await Graph("filesrc location=\(cut) ! \(demuxer) ! fakesink").run()
        }
        #expect(
            "\(try #require(error))".contains("\(cut); an MP4 file has no index if it was cut off"),
            "\(String(describing: error))")
    }

    @Test("RP-13 GR-13 a dropped orientation is reported with the element that dropped it")
    func droppedOrientation() async throws {
        let source =
            "videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48 ! taginject tags=image-orientation=rotate-90"
        let movie = folder.file("movie.mp4")
        let rotated = VideoOrientation(quarterTurns: 1)
        for encoder in ["x264enc", "jpegenc", "vp8enc"] {
            let found = try await losses(
                "\(source) ! \(encoder) name=e ! queue ! matroskamux ! filesink location=\(movie)")
            #expect(found == [.lostOrientation(writer: "e", rotated)], "\(encoder)")
        }
        #expect(try await losses("\(source) ! upright ! x264enc ! mp4mux ! filesink location=\(movie)") == [])
        #expect(
            try await losses(
                "\(source) ! videoflip video-direction=auto ! jpegenc ! avimux ! filesink location=\(movie)") == [])
        // The frames are turned by a fixed videoflip.
        let turned = "\(source) ! videoflip video-direction=90r ! x264enc ! mp4mux ! filesink location=\(movie)"
        #expect(try await losses(turned) == [])
        // JPEG files in JIF keep the orientation.
        #expect(try await losses("\(source) ! jpegenc ! jifmux ! filesink location=\(folder.file("a.jpg"))") == [])
        // Frames that another program encoded.
        let found = try await losses(
            "filesrc location=\(try await self.movie(frames: 3)) ! avidemux ! taginject tags=image-orientation=rotate-90 "
                + "! matroskamux name=m ! filesink location=\(movie)")
        #expect(found == [.lostOrientation(writer: "m", rotated)])
    }

    @Test("GR-13 a decoding bin's audio that isn't in the new file is reported")
    func unusedAudio() async throws {
        let (both, copy) = (folder.file("both.mkv"), folder.file("copy.mkv"))
        try await Graph(
            """
            matroskamux name=m ! filesink location=\(both) videotestsrc num-buffers=5 ! vp8enc ! queue ! m. \
            audiotestsrc num-buffers=5 ! opusenc ! queue ! m.
            """
        ).run()
        let video = "videoconvert ! vp8enc ! matroskamux name=m ! filesink location=\(copy)"
        for decoder in ["filesrc location=\(both) ! decodebin name=d", "uridecodebin name=d uri=file://\(both)"] {
            #expect(try await losses("\(decoder) ! \(video)") == [.unusedAudio(source: "d", muxer: "m")])
            // The audio is linked explicitly, or muxed, or the file isn't a copy with other streams.
            #expect(try await losses("\(decoder) ! \(video) d. ! fakesink") == [])
            #expect(try await losses("\(decoder) ! \(video) d. ! audioconvert ! opusenc ! m.") == [])
            #expect(try await losses("\(decoder) ! videoconvert ! fakesink") == [])
            let audio = "d. ! audioconvert ! opusenc ! matroskamux ! filesink location=\(copy)"
            #expect(try await losses("\(decoder) \(audio)") == [])
        }
    }
}
