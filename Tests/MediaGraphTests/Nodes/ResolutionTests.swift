import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// The sizes that pipes deliver, over many sizes and pixel aspects.
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
        "RP-2 whatever size and pixel aspect a stream has: no line and no column more than it, the tallest that allows, the nearest width",
        arguments: [1, 90, 180, 333, 360, 480, 720, 1080].map { Resolution(height: $0)! })
    func everySize(resolution: Resolution) throws {
        var wrong: [String] = []
        for width in Self.sides {
            for height in Self.sides {
                guard var info = VideoInfo(.i420, width: width, height: height) else { continue }
                for (numerator, denominator) in Self.aspects {
                    info.pixelAspectRatio = Fraction(Int32(numerator), Int32(denominator))
                    let size = resolution.size(for: info)
                    // In whole numbers: the true width of so many lines is lines · wide / high.
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

    @Test("RP-2 a description asks for any number of lines")
    func text() throws {
        #expect(Resolution(text: "native") == .native && Resolution(text: "480p") == .p480)
        #expect(Resolution(text: "333p").map(\.rawValue) == 333 && Resolution(text: "333p")?.text == "333p")
        for wrong in ["", "480", "p", "0p", "-90p", "+90p", "090p", "90P", "32768p", "99999999999999999999p", "auto"] {
            #expect(Resolution(text: wrong) == nil, "\(wrong)")
        }
        for wrong: Int32 in [-1, 32768] { #expect(Resolution(rawValue: wrong) == nil) }
        #expect(Resolution(height: 0) == nil && Resolution(height: -1) == nil && Resolution(height: 32767) != nil)
    }

    @Test("RP-2 frames of a height that isn't one of the usual ones")
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

    @Test("CR-3 another process can ask for the usual heights only, each of which is made and kept")
    func demand() throws {
        let decoder = JSONDecoder()
        for (number, isKnown) in [(0, true), (480, true), (2160, true), (333, false), (-1, false), (1 << 40, false)] {
            let decoded = try? decoder.decode(Resolution.self, from: Data("\(number)".utf8))
            #expect((decoded != nil) == isKnown, "\(number)")
        }
    }
}
