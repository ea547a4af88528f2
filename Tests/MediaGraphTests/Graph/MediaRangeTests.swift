import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph

/// Parts of files: `--from`, `--to` and `--frames`.
@Suite struct MediaRangeTests {
    private let folder: TemporaryFolder
    init() throws { folder = try TemporaryFolder() }

    /// Three seconds of pictures and sound, a key frame each second.
    private func movie(_ muxer: String = "matroskamux") async throws -> String {
        let path = folder.file("movie")
        try await Graph(
            """
            \(muxer) name=m ! filesink location=\(path)
            videotestsrc num-buffers=90 ! video/x-raw,width=64,height=48,framerate=30/1,format=I420
            ! x264enc key-int-max=30 tune=zerolatency ! h264parse ! m.
            audiotestsrc num-buffers=150 samplesperbuffer=960 ! audio/x-raw,rate=48000 ! avenc_aac ! m.
            """
        ).run()
        return path
    }

    /// Seconds of each stream of a file.
    private func lengths(_ path: String) async throws -> [Double] {
        let graph = try Graph(
            """
            filesrc location=\(path) ! decodebin name=d d. ! queue ! videoconvert ! fakesink name=video
            d. ! queue ! audioconvert ! fakesink name=sound
            """)
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        let lengths = try ["video", "sound"].map { try graph.element($0).position?.seconds ?? -1 }
        await graph.stop()
        return lengths
    }

    private func times(_ text: String, from: Double?, to: Double?) async throws -> [Double] {
        let graph = try Graph(text)
        func time(_ seconds: Double) -> ClockTime { ClockTime(nanoseconds: UInt64(seconds * 1e9)) }
        try graph.setMediaRange(from: from.map(time), to: to.map(time))
        let times = Log<Double>()
        let marks = Log<Double>()
        try graph.rawDataPipe("frames").receive { frame in times.add(frame.streamTime?.seconds ?? -1) }
        try graph.preprocessor("mark").process { frame in
            marks.add(frame.streamTime?.seconds ?? -1)
            return .pass
        }
        try await graph.run()
        #expect(marks.all == times.all)
        return times.all
    }

    @Test(
        "GR-3 a part of a file is exact to the frame, and no node receives anything else",
        // Not Matroska, whose times are rounded to milliseconds: the frame before may last into the part.
        arguments: ["decodebin", "qtdemux ! h264parse ! avdec_h264"])
    func part(decoder: String) async throws {
        let path = try await movie("mp4mux")
        let text =
            "filesrc location=\(path) ! \(decoder) ! videoconvert ! preprocessor name=mark ! rawdatapipe name=frames"
        let part = try await times(text, from: 1.5, to: 2)
        #expect(part.count == 15 && part.first == 1.5, "\(part)")
        let rest = try await times(text, from: 2.5, to: nil)
        #expect(rest.count == 15 && rest.first == 2.5, "\(rest)")
        let beginning = try await times(text, from: nil, to: 0.5)
        #expect(beginning.count == 15 && beginning.first == 0, "\(beginning)")
    }

    @Test("GR-3 a part of a stream that counts time by itself, in each of two runs")
    func source() async throws {
        let graph = try Graph("videotestsrc ! video/x-raw,framerate=30/1,width=64,height=48 ! rawdatapipe name=frames")
        try graph.setMediaRange(from: ClockTime(nanoseconds: 1_000_000_000), to: ClockTime(nanoseconds: 2_000_000_000))
        let times = Log<Double>()
        try graph.rawDataPipe("frames").receive { frame in times.add(frame.streamTime?.seconds ?? -1) }
        for run in 1...2 {
            try await graph.run()
            #expect(times.all.count == 30 * run && times.all.first == 1)
        }
    }

    @Test("GR-3 streams that aren't decoded begin together at the key frame before, and end together")
    func remuxed() async throws {
        let path = try await movie("mp4mux")
        let output = folder.file("part.mp4")
        let graph = try Graph(
            """
            filesrc location=\(path) ! qtdemux name=d d.video_0 ! queue ! h264parse ! mp4mux name=m
            ! filesink location=\(output) d.audio_0 ! queue ! aacparse ! m.
            """)
        try graph.setMediaRange(from: ClockTime(nanoseconds: 1_300_000_000), to: ClockTime(nanoseconds: 2_000_000_000))
        try await graph.run()
        let lengths = try await lengths(output)
        #expect(lengths.allSatisfy { (0.93...1.07).contains($0) }, "\(lengths)")
    }

    @Test("GR-3 what can't seek, as a camera, has no parts: the run says so")
    func refused() async throws {
        let graph = try Graph("videosource name=camera handler=counter ! fakesink")
        try graph.setMediaRange(from: ClockTime(nanoseconds: 1_000_000_000))
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(try #require(error))".contains("camera (videosource): can't seek"), "\(String(describing: error))")
        #expect(throws: GraphError.self) {
            try graph.setMediaRange(from: ClockTime(nanoseconds: 2), to: ClockTime(nanoseconds: 2))
        }
    }

    @Test("GR-13 with --frames the sound of a file ends with the picture")
    func frames() async throws {
        let path = try await movie()
        let output = folder.file("short.mkv")
        let graph = try Graph(
            """
            filesrc location=\(path) ! decodebin name=d d. ! queue ! videoconvert ! x264enc ! matroskamux name=m
            ! filesink location=\(output) d. ! queue ! audioconvert ! avenc_aac ! m.
            """)
        try graph.endAfter(frames: 30)
        try await graph.run()
        let lengths = try await lengths(output)
        #expect(lengths.allSatisfy { (0.95...1.07).contains($0) }, "\(lengths)")
    }
}
