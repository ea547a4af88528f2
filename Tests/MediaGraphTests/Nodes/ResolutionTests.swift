import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests the sizes that pipes deliver, for many input sizes and pixel aspect ratios.
@Suite struct ResolutionTests {
    private static let sides = [
        1, 2, 3, 8, 10, 11, 17, 89, 90, 91, 101, 180, 239, 240, 404, 405, 480, 573, 576, 720, 1080, 1366, 1919, 2160,
        4096,
    ]
    private static let aspects = [
        (1, 1), (4, 3), (3, 4), (16, 15), (12, 11), (10, 11), (8, 9), (59, 54), (118, 81), (40, 33), (64, 45), (32, 27),
        (2, 1), (1, 2), (7, 5), (1001, 1000), (999, 1000),
    ]

    @Test(
        "RP-2 a resolution gives the tallest size within the stream's own, with the nearest width",
        arguments: [1, 90, 180, 333, 360, 480, 720, 1080].map { Resolution(height: $0)! })
    func everySize(resolution: Resolution) throws {
        var wrong: [String] = []
        for width in Self.sides {
            for height in Self.sides {
                guard var info = VideoInfo(.i420, width: width, height: height) else { continue }
                for (numerator, denominator) in Self.aspects {
                    info.pixelAspectRatio = Fraction(Int32(numerator), Int32(denominator))
                    let size = resolution.size(for: info)
                    // In integers: the exact width of a number of lines is lines · wide / high.
                    let (wide, high) = (width * numerator, height * denominator)
                    let fits = { (lines: Int) in
                        lines <= Int(resolution.rawValue) && lines <= height && lines * wide <= width * high
                    }
                    let isNearest = abs(2 * (size.width * high - size.height * wide)) <= high
                    let isClamped = size.width == 1 || size.height == 1 && size.width == width
                    let isRight =
                        (1...width).contains(size.width) && (size.height == 1 || fits(size.height))
                        && !fits(size.height + 1) && (isNearest || isClamped)
                    if !isRight { wrong.append("\(width)×\(height) \(numerator)/\(denominator): \(size)") }
                }
            }
        }
        let count = wrong.count
        #expect(count == 0, "such as \(wrong.first ?? "")")
    }

    @Test("RP-2 a description may ask for any number of lines")
    func text() throws {
        #expect(Resolution(text: "native") == .native && Resolution(text: "480p") == .p480)
        #expect(Resolution(text: "333p").map(\.rawValue) == 333 && Resolution(text: "333p")?.text == "333p")
        for wrong in ["", "480", "p", "0p", "-90p", "+90p", "090p", "90P", "32768p", "99999999999999999999p", "auto"] {
            #expect(Resolution(text: wrong) == nil, "\(wrong)")
        }
        for wrong: Int32 in [-1, 32768] { #expect(Resolution(rawValue: wrong) == nil) }
        #expect(Resolution(height: 0) == nil && Resolution(height: -1) == nil && Resolution(height: 32767) != nil)
    }

    @Test("RP-2 a pipe delivers frames of an unusual height")
    func unusual() async throws {
        let graph = try Graph(
            "videotestsrc num-buffers=1 ! video/x-raw,width=640,height=480 ! rawdatapipe name=p resolution=333p")
        let sizes = Log<[Int]>()
        try graph.rawDataPipe("p").receive { frame in sizes.add([frame.width, frame.height]) }
        try await graph.run()
        #expect(sizes.all == [[444, 333]])
        let error = #expect(throws: PropertyError.self) { try graph.rawDataPipe("p").set("resolution", parsing: "480") }
        #expect(
            "\(try #require(error))".contains(
                "expected native, 90p, 180p, 360p, 720p, 1080p, or another number of lines from 1p to 32767p, such as 480p"
            ), "\(error!)"
        )
    }

    @Test("CR-3 another process can only ask for the usual heights")
    func demand() throws {
        let decoder = JSONDecoder()
        for (number, isKnown) in [(0, true), (480, true), (2160, true), (333, false), (-1, false), (1 << 40, false)] {
            let decoded = try? decoder.decode(Resolution.self, from: Data("\(number)".utf8))
            #expect((decoded != nil) == isKnown, "\(number)")
        }
    }

    @Test(
        "RP-2 a resolution gives at most its height, keeps the aspect with square pixels, never enlarges",
        arguments: [
            (1920, 1080, Fraction(1, 1), Resolution.p360, 640, 360), (426, 240, Fraction(1, 1), .p180, 320, 180),
            (404, 720, Fraction(1, 1), .p360, 202, 360), (405, 720, Fraction(1, 1), .p360, 203, 360),
            (640, 360, Fraction(1, 1), .p720, 640, 360), (720, 576, Fraction(16, 15), .p360, 480, 360),
            (720, 576, Fraction(16, 15), .p1080, 720, 540), (720, 480, Fraction(8, 9), .p1080, 640, 480),
            (1, 2160, Fraction(1, 1), .p90, 1, 90), (1920, 1080, Fraction(1, 1), .native, 1920, 1080),
        ] as [(Int, Int, Fraction, Resolution, Int, Int)])
    func resolutionSize(
        width: Int, height: Int, aspect: Fraction, resolution: Resolution, expectedWidth: Int, expectedHeight: Int
    ) throws {
        var info = try #require(VideoInfo(.i420, width: width, height: height))
        info.pixelAspectRatio = aspect
        #expect(resolution.size(for: info) == (expectedWidth, expectedHeight))
    }

    @Test("RP-2 a pipe delivers frames of its resolution with square pixels")
    func resolutionDelivered() async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=2 ! video/x-raw,width=720,height=576,pixel-aspect-ratio=16/15 !
            rawdatapipe name=pipe resolution=360p
            """)
        let seen = Log<[Int]>()
        try graph.rawDataPipe("pipe").receive { frame in
            seen.add([frame.width, frame.height, Int(frame.info.pixelAspectRatio.numerator)])
        }
        try await graph.run()
        #expect(seen.all == [[480, 360, 1], [480, 360, 1]])
    }

    @Test("RP-2 the resolution `auto` is refused with an error that lists the valid ones")
    func autoResolution() throws {
        let error = #expect(throws: GraphError.self) { try Graph("videotestsrc ! rawdatapipe resolution=auto") }
        let text = "\(error!)"
        #expect(text.contains("1:36") || text.contains("resolution"), "\(text)")
        for name in ["90p", "180p", "360p", "720p", "1080p"] { #expect(text.contains(name), "\(text)") }
    }
}
