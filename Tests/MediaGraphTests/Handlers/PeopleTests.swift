import Foundation
import GStreamer
import MediaGraphTesting
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

/// Tests the handlers for video of people: background, blur, despill, and the watermark's clock.
@Suite(.timeLimit(.minutes(10))) struct PeopleTests {
    // MARK: background

    @Test(
        "background shows its color where alpha is 0, keeps opaque pixels, and mixes in between",
        arguments: [
            VideoFormat.bgra, .rgba, .argb, .abgr,
        ])
    func color(_ format: VideoFormat) throws {
        let offsets = try #require(format.colorOffsets)
        let alpha = try #require(format.alphaOffset)
        var frame = TestFrame(.init(format), width: 5, height: 3, filledWith: 200)
        for y in 0..<3 {
            for (x, value) in [0, 255, 128, 0, 255].enumerated() { frame[.packed, x, y, alpha] = UInt8(value) }
        }
        var harness = try ProcessorHarness<Background>(options: "color=0a6414")
        let result = try harness.process(frame).frame
        for y in 0..<3 {
            for x in 0..<5 {
                let rgb = [offsets.red, offsets.green, offsets.blue].map { Int(result[.packed, x, y, $0]) }
                let expected = [[10, 100, 20], [200, 200, 200], [105, 150, 110], [10, 100, 20], [200, 200, 200]][x]
                #expect(zip(rgb, expected).allSatisfy { abs($0 - $1) <= 1 }, "\(x),\(y): \(rgb)")
                if x != 2 { #expect(rgb == expected, "\(x),\(y)") }
                #expect(result[.packed, x, y, alpha] == 255)
            }
        }
    }

    @Test("background fills A420 with its color in the frame's range and matrix, and makes it opaque")
    func planar() throws {
        for (range, white) in [(Colorimetry.Range.limited, UInt8(235)), (.full, 255)] {
            var frame = TestFrame(.init(.a420, range: range), width: 16, height: 8, filledWith: 90)
            for y in 0..<8 { for x in 0..<16 { frame[.alpha, x, y] = x < 8 ? 0 : 255 } }
            var harness = try ProcessorHarness<Background>(options: "color=ffffff")
            let result = try harness.process(frame).frame
            for y in 0..<8 { for x in 0..<16 { #expect(result[.y, x, y] == (x < 8 ? white : 90), "\(x),\(y)") } }
            for y in 0..<4 { for x in 0..<8 { #expect(result[.u, x, y] == (x < 4 ? 128 : 90), "\(x),\(y)") } }
            #expect(result.plane(.alpha)?.allSatisfy { $0 == 255 } == true)
        }
    }

    @Test("a background picture fills the frame with its center and keeps its aspect ratio")
    func picture() throws {
        let folder = try TemporaryFolder()
        // Three stripes of 40×40 pixels. The frame has the aspect ratio of the middle one.
        try FFmpeg.run(
            "-f", "lavfi", "-i", "color=red:size=40x40", "-f", "lavfi", "-i", "color=lime:size=40x40", "-f", "lavfi",
            "-i",
            "color=blue:size=40x40", "-filter_complex", "hstack=3", "-frames:v", "1", folder.file("stripes.png"))
        var harness = try ProcessorHarness<Background>(options: "image=\(folder.file("stripes.png"))")
        let result = try harness.process(TestFrame(.init(.rgba), width: 20, height: 20, filledWith: 0)).frame
        for y in 0..<20 {
            for x in 0..<20 {
                let pixel = (0..<4).map { result[.packed, x, y, $0] }
                #expect(pixel[0] <= 5 && pixel[1] >= 250 && pixel[2] <= 5 && pixel[3] == 255, "\(x),\(y): \(pixel)")
            }
        }
    }

    @Test(
        "background and blur take interlaced frames and any frame rate",
        arguments: ["interleaved", "mixed", "progressive"])
    func interlaced(_ mode: String) async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=2 pattern=white ! video/x-raw,format=A420,width=32,height=16,framerate=50/1 !
            capssetter caps="video/x-raw,interlace-mode=\(mode)" ! preprocessor handler=background options=color=ff0000 !
            preprocessor handler=blur ! rawdatapipe name=p format=A420
            """)
        let collector = FrameCollector()
        try graph.rawDataPipe("p").attach(collector)
        try await graph.run()
        #expect(collector.frames.count == 2)
        #expect(collector.frames.first?.plane(.y)?.allSatisfy { $0 >= 234 } == true)
    }

    @Test("background with blur keeps opaque pixels and removes the detail behind transparent ones")
    func blurredBackground() throws {
        for format in [VideoFormat.a420, .bgra] {
            var frame = TestFrame.noise(.init(format), width: 64, height: 64)
            for y in 0..<64 {
                for x in 0..<64 {
                    if format == .a420 {
                        frame[.alpha, x, y] = x < 32 ? 0 : 255
                    } else {
                        frame[.packed, x, y, 3] = x < 32 ? 0 : 255
                    }
                }
            }
            var harness = try ProcessorHarness<Background>(options: "blur=16")
            let result = try harness.process(frame).frame
            let plane: VideoFormat.Plane = format == .a420 ? .y : .packed
            let left = (0..<64).flatMap { y in (0..<24).map { Int(result[plane, $0, y]) } }
            #expect(left.max()! - left.min()! < 110)
            for y in 0..<64 { for x in 32..<64 { #expect(result[plane, x, y] == frame[plane, x, y]) } }
            let alpha = (0..<64 * 64).map {
                format == .a420 ? result[.alpha, $0 % 64, $0 / 64] : result[.packed, $0 % 64, $0 / 64, 3]
            }
            #expect(alpha.allSatisfy { $0 == 255 })
        }
    }

    @Test("a picture that can't be read is an error with its path and the reason")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        let whole = folder.file("whole.png")
        try FFmpeg.run("-f", "lavfi", "-i", "testsrc=size=64x48", "-frames:v", "1", whole)
        let files = [
            try folder.write("text.png", Array("hello".utf8)), try folder.write("empty.png", []),
            try folder.write("cut.png", try folder.read("whole.png").dropLast(200)),
        ]
        for file in files {
            let error = #expect(throws: MediaGraphError.self) {
                try ProcessorHarness<Background>(options: "image=\(file)")
            }
            #expect("\(error!)".hasSuffix("\(file) can't be read: not a complete PNG picture"), "\(error!)")
        }
        _ = try ProcessorHarness<Background>(options: "image=\(whole)")
        let error = #expect(throws: MediaGraphError.self) {
            try ProcessorHarness<Background>(options: "image=\(folder.path)")
        }
        #expect("\(error!)".hasSuffix("\(folder.path) is a folder; name a file in it"), "\(error!)")
    }

    @Test(
        "background refuses invalid options and formats without alpha",
        arguments: [
            (
                "color=green",
                "option color of background: expected six hexadecimal digits, such as 00b140, got \"green\""
            ),
            ("color=000000,blur=3", "options of background: color and blur exclude each other; set only one"),
            (
                "image=/nonexistent.png",
                "option image of background: /nonexistent.png can't be read: No such file or directory"
            ),
            ("blur=257", "option blur of background: expected a whole number from 1 to 256, got \"257\""),
        ])
    func refusedBackground(_ options: String, _ message: String) throws {
        let error = #expect(throws: MediaGraphError.self) { try ProcessorHarness<Background>(options: options) }
        #expect("\(error!)" == message)
        var harness = try ProcessorHarness<Background>()
        #expect(throws: MediaGraphError.self) {
            try harness.process(TestFrame(.init(.nv12), width: 4, height: 4, filledWith: 1))
        }
    }

    // MARK: blur

    @Test(
        "blur changes no byte outside its rectangle, in each format and at odd sizes",
        arguments: VideoFormat.allCases)
    func rectangle(_ format: VideoFormat) throws {
        for (width, height) in [(40, 30), (41, 31)] {
            let input = TestFrame.noise(.init(format), width: width, height: height)
            var harness = try ProcessorHarness<Blur>(options: "radius=6,x=0.25,y=0.3,width=0.5,height=0.4")
            let output = try harness.process(input).frame
            let columns = width == 40 ? 10..<30 : 10..<(format.isYUV ? 32 : 31)
            let rows = height == 30 ? (format.isYUV ? 8..<22 : 9..<21) : (format.isYUV ? 8..<22 : 9..<22)
            var changed = 0
            for plane in format.planes {
                let size = format.size(of: plane, width: width, height: height)
                let (coarseX, coarseY) = (size.width < width ? 2 : 1, size.height < height ? 2 : 1)
                for y in 0..<size.height {
                    for x in 0..<size.width {
                        for component in 0..<format.pixelStride(of: plane)
                        where output[plane, x, y, component] != input[plane, x, y, component] {
                            changed += 1
                            guard columns.contains(x * coarseX) && rows.contains(y * coarseY) else {
                                Issue.record("\(width)×\(height) \(plane) \(x),\(y) changed")
                                return
                            }
                        }
                    }
                }
            }
            #expect(changed > 300)
        }
    }

    @Test("blur removes details finer than its radius and leaves flat areas alone")
    func detail() throws {
        var board = TestFrame(.init(.i420), width: 64, height: 64, filledWith: 128)
        for y in 0..<64 { for x in 0..<64 { board[.y, x, y] = (x / 4 + y / 4) % 2 == 0 ? 0 : 255 } }
        var harness = try ProcessorHarness<Blur>(options: "radius=16")
        let gray = try harness.process(board).frame.plane(.y)!
        #expect(gray.allSatisfy { 118...138 ~= $0 }, "\(gray.min()!)…\(gray.max()!)")
        for value: UInt8 in [0, 16, 77, 255] {
            let flat = TestFrame(.init(.i420), width: 33, height: 17, filledWith: value)
            // The resampler rounds.
            #expect(try harness.process(flat).frame.bytes.allSatisfy { abs(Int($0) - Int(value)) <= 1 })
        }
    }

    // MARK: despill

    @Test(
        "despill reduces green to the larger of red and blue, and changes nothing else",
        arguments: [VideoFormat.rgb24, .bgr24, .rgba, .bgra, .argb, .abgr])
    func green(_ format: VideoFormat) throws {
        let offsets = try #require(format.colorOffsets)
        let colors: [([UInt8], [UInt8], [UInt8])] = [
            // Before, after, and after with strength=0.5.
            ([0, 255, 0], [0, 0, 0], [0, 127, 0]), ([100, 200, 50], [100, 100, 50], [100, 150, 50]),
            ([50, 200, 120], [50, 120, 120], [50, 160, 120]), ([200, 150, 120], [200, 150, 120], [200, 150, 120]),
            ([255, 255, 255], [255, 255, 255], [255, 255, 255]), ([255, 255, 0], [255, 255, 0], [255, 255, 0]),
            ([0, 0, 255], [0, 0, 255], [0, 0, 255]),
        ]
        var frame = TestFrame(.init(format), width: colors.count, height: 2, filledWith: 77)
        for (x, color) in colors.enumerated() {
            for y in 0..<2 {
                for (offset, value) in zip([offsets.red, offsets.green, offsets.blue], color.0) {
                    frame[.packed, x, y, offset] = value
                }
            }
        }
        for (options, pick) in [("", \([UInt8], [UInt8], [UInt8]).1), ("strength=0.5", \.2)] {
            var harness = try ProcessorHarness<Despill>(options: options)
            let result = try harness.process(frame).frame
            for (x, color) in colors.enumerated() {
                let rgb = [offsets.red, offsets.green, offsets.blue].map { result[.packed, x, 1, $0] }
                #expect(rgb == color[keyPath: pick], "\(color.0) \(options)")
                if let alpha = format.alphaOffset { #expect(result[.packed, x, 1, alpha] == 77) }
            }
        }
    }

    @Test("despill reduces blue with color=blue, and nothing with strength=0")
    func blue() throws {
        var frame = TestFrame(.init(.rgb24), width: 1, height: 1, filledWith: 0)
        (frame[.packed, 0, 0, 0], frame[.packed, 0, 0, 1], frame[.packed, 0, 0, 2]) = (10, 30, 200)
        var harness = try ProcessorHarness<Despill>(options: "color=blue")
        #expect(try harness.process(frame).frame.bytes == [10, 30, 30])
        harness = try ProcessorHarness<Despill>(options: "color=blue,strength=0")
        #expect(try harness.process(frame).frame == frame)
    }

    // MARK: watermark's clock

    @Test("a watermark's clock shows the capture time and is redrawn only when it changes")
    func clock() throws {
        func drawn(_ seconds: [UInt64], _ options: String) throws -> [[UInt8]] {
            var harness = try ProcessorHarness<Watermark>(options: options)
            return try seconds.map { second in
                var frame = TestFrame(.init(.bgra), width: 320, height: 180, filledWith: 60)
                frame.captureTime = Date(timeIntervalSince1970: Double(second) + 0.000_005)
                return try harness.process(frame).frame.bytes
            }
        }
        let second: UInt64 = 1_700_000_000
        let clocks = try drawn([second, second, second + 1, second], "clock=%S,size=0.3,opacity=1")
        #expect(clocks[0] == clocks[1] && clocks[1] == clocks[3] && clocks[2] != clocks[0])
        // The clock equals the text itself: 1 700 000 000 is 22:13:20 in UTC, and the seconds are the same in every
        // zone.
        #expect(clocks[0] == (try drawn([0], "text=20,size=0.3,opacity=1"))[0])
        #expect(clocks[2] == (try drawn([0], "text=21,size=0.3,opacity=1"))[0])
        let both = try drawn([second], "text=on air,clock=%S,size=0.3,opacity=1")
        #expect(both[0] == (try drawn([0], "text=on air 20,size=0.3,opacity=1"))[0])
    }

    @Test(
        "a watermark's clock beside a picture, or one that shows nothing, is refused",
        arguments: ["clock=%T,image=a.png", "clock="])
    func refusedClock(_ options: String) {
        #expect(throws: MediaGraphError.self) { try ProcessorHarness<Watermark>(options: options) }
    }
}
