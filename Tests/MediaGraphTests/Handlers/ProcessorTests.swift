import GStreamer
import MediaGraph
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ProcessorTests {
    static let formats = VideoFormat.allCases
    static let sizes = [(1, 1), (2, 2), (3, 3), (7, 5), (64, 36), (641, 361)]

    // MARK: invert

    @Test("PP-8 inverting twice restores each format, at odd sizes too", arguments: formats)
    func invertTwice(_ format: VideoFormat) async throws {
        for (width, height) in Self.sizes {
            let length = format.packedLength(width: width, height: height)
            let input = noise(length, in: format.isYUV ? 1...251 : 0...255)
            let once = try await process(
                [input], format, width: width, height: height, through: "preprocessor handler=invert")
            let twice = try await process(
                [input], format, width: width, height: height,
                through: "preprocessor handler=invert ! preprocessor handler=invert")
            #expect(once.count == 1 && once.first != input)
            #expect(twice == [input], "\(width)×\(height)")
        }
    }

    @Test("invert follows the range in the caps, keeps gray, and clamps values beyond the range")
    func invertValues() async throws {
        let luma: [UInt8] = [0, 16, 100, 235, 251, 255, 1, 2]
        let chroma: [UInt8] = [0, 1, 128, 240, 255, 16, 128, 128]
        let input = luma + chroma.prefix(4) + chroma.suffix(4)
        let limited = try await process(
            [input], .i422, width: 8, height: 1, through: "preprocessor handler=invert")
        #expect(limited == [[251, 235, 151, 16, 0, 0, 250, 249] + [255, 255, 128, 16] + [1, 240, 128, 128]])
        let full = try await process(
            [input], .i422, width: 8, height: 1, range: .full, through: "preprocessor handler=invert")
        #expect(full == [[255, 239, 155, 20, 4, 0, 254, 253] + [255, 255, 128, 16] + [1, 240, 128, 128]])
    }

    @Test(
        "invert, grayscale and pixelate don't change alpha", arguments: [VideoFormat.bgra, .rgba, .argb, .abgr, .a420])
    func alpha(_ format: VideoFormat) async throws {
        let input = noise(format.packedLength(width: 6, height: 4))
        for handler in ["invert", "grayscale", "pixelate"] {
            let output = try await process(
                [input], format, width: 6, height: 4, through: "preprocessor handler=\(handler)")
            let first = try #require(output.first)
            #expect(first != input)
            for index in alphaBytes(format) { #expect(first[index] == input[index], "\(handler), byte \(index)") }
        }
    }

    /// Returns the positions of the alpha bytes in a packed frame of 6×4 pixels.
    private func alphaBytes(_ format: VideoFormat) -> [Int] {
        switch format {
        case .a420: Array(36..<60)
        case .argb, .abgr: Array(stride(from: 0, to: 96, by: 4))
        default: Array(stride(from: 3, to: 96, by: 4))
        }
    }

    // MARK: grayscale

    @Test(
        "grayscale keeps luma and sets chroma to the neutral value",
        arguments: [VideoFormat.i420, .nv12, .nv21, .i422, .a420])
    func grayscaleYUV(_ format: VideoFormat) async throws {
        let (width, height) = (7, 5)
        let input = noise(format.packedLength(width: width, height: height))
        let output = try await process(
            [input], format, width: width, height: height, through: "preprocessor handler=grayscale")
        let chroma = format == .i422 ? 4 * 5 * 2 : 4 * 3 * 2
        var expected = input
        expected.replaceSubrange(35..<35 + chroma, with: [UInt8](repeating: 128, count: chroma))
        #expect(output == [expected])
    }

    @Test(
        "grayscale sets the components of RGB to one value",
        arguments: [VideoFormat.rgb24, .bgr24, .rgba, .bgra, .argb, .abgr])
    func grayscaleRGB(_ format: VideoFormat) async throws {
        // White, black, and pure green in each order of bytes.
        let green: [UInt8] =
            switch format {
            case .rgb24, .bgr24: [0, 255, 0]
            case .argb, .abgr: [9, 0, 255, 0]
            default: [0, 255, 0, 9]
            }
        let bytes = green.count
        let input = [UInt8](repeating: 255, count: bytes) + [UInt8](repeating: 0, count: bytes) + green
        let output = try #require(
            try await process([input], format, width: 3, height: 1, through: "preprocessor handler=grayscale").first)
        #expect(Array(output.prefix(2 * bytes)) == Array(input.prefix(2 * bytes)))
        // BT.709: 0.7152 of 255.
        #expect(output.suffix(bytes) == green.map { $0 == 9 ? 9 : 182 }[...])
    }

    // MARK: pixelate

    @Test("pixelate sets each block to its mean, at odd sizes and block sizes too")
    func pixelateMeans() async throws {
        let (width, height, block) = (11, 7, 4)
        let input = noise(width * height * 3)
        let output = try #require(
            try await process(
                [input], .rgb24, width: width, height: height,
                through: "preprocessor handler=pixelate options=\"block=\(block)\""
            ).first)
        for top in stride(from: 0, to: height, by: block) {
            for left in stride(from: 0, to: width, by: block) {
                let pixels = (top..<min(top + block, height)).flatMap { y in
                    (left..<min(left + block, width)).map { y * width + $0 }
                }
                for component in 0..<3 {
                    let sum = pixels.reduce(0) { $0 + Int(input[$1 * 3 + component]) }
                    let mean = UInt8((sum + pixels.count / 2) / pixels.count)
                    #expect(pixels.allSatisfy { output[$0 * 3 + component] == mean })
                }
            }
        }
    }

    @Test("pixelate changes nothing outside its rectangle, in each format", arguments: formats)
    func pixelateRectangle(_ format: VideoFormat) async throws {
        for (width, height) in [(40, 30), (41, 31)] {
            let input = noise(format.packedLength(width: width, height: height))
            let output = try #require(
                try await process(
                    [input], format, width: width, height: height,
                    through: "preprocessor handler=pixelate options=\"block=5,x=0.25,y=0.3,width=0.5,height=0.4\""
                ).first)
            // The rectangle grows to even pixels if chroma is subsampled.
            let columns = width == 40 ? 10..<30 : 10..<(format.isYUV ? 32 : 31)
            let rows = height == 30 ? (format.isYUV ? 8..<22 : 9..<21) : (format.isYUV ? 8..<22 : 9..<22)
            var offset = 0
            var changed = 0
            for plane in format.planes {
                let size = format.size(of: plane, width: width, height: height)
                let step = format.pixelStride(of: plane)
                let (coarseX, coarseY) = (size.width < width ? 2 : 1, size.height < height ? 2 : 1)
                for y in 0..<size.height {
                    for x in 0..<size.width * step {
                        let index = offset + y * size.width * step + x
                        let isInside =
                            columns.contains(x / step * coarseX) && rows.contains(y * coarseY) && plane != .alpha
                        if isInside { changed += input[index] == output[index] ? 0 : 1 }
                        guard !isInside, input[index] != output[index] else { continue }
                        Issue.record("\(width)×\(height) \(plane) \(x),\(y) changed")
                        return
                    }
                }
                offset += size.width * step * size.height
            }
            #expect(changed > 300)
        }
    }

    // MARK: watermark

    @Test("watermark changes only its corner, in each format", arguments: formats)
    func watermark(_ format: VideoFormat) async throws {
        let (width, height) = (161, 91)
        let input = [UInt8](repeating: 90, count: format.packedLength(width: width, height: height))
        let output = try #require(
            try await process(
                [input], format, width: width, height: height,
                through: "preprocessor handler=watermark options=\"corner=top-left,size=0.3,opacity=1\""
            ).first)
        let step = format.pixelStride(of: format.planes[0])
        let changed = (0..<width * height * step).filter { output[$0] != input[$0] }
        let rows = changed.map { $0 / (width * step) }
        #expect(changed.count > 500)
        #expect(rows.allSatisfy { $0 < height / 2 })
        // The mark is white, with a dark outline.
        let values = changed.map { output[$0] }
        #expect(values.contains { $0 >= 225 } && values.contains { $0 <= 40 })
    }

    @Test("a white watermark is white in full range too")
    func watermarkFullRange() async throws {
        let input = [UInt8](repeating: 90, count: 160 * 90 * 3 / 2)
        for (range, white) in [(Colorimetry.Range.limited, UInt8(235)), (.full, 255)] {
            let output = try #require(
                try await process(
                    [input], .i420, width: 160, height: 90, range: range,
                    through: "preprocessor handler=watermark options=\"size=0.5,opacity=1,text=M\""
                ).first)
            #expect(output.prefix(160 * 90).max() == white)
        }
    }

    @Test("a watermark with opacity=0 changes nothing")
    func invisible() async throws {
        let input = noise(160 * 90 * 4)
        let output = try await process(
            [input], .bgra, width: 160, height: 90, through: "preprocessor handler=watermark options=\"opacity=0\"")
        #expect(output == [input])
    }

    @Test("a watermark's picture of any size is scaled to fit, even into a frame of one pixel")
    func image() async throws {
        let folder = try TemporaryFolder()
        try FFmpeg.run(
            "-f", "lavfi", "-i", "color=c=red:size=50x30", "-frames:v", "1", folder.file("red.png"))
        let options = "image=\(folder.file("red.png")),size=1,opacity=1,corner=center"
        for (width, height) in [(1, 1), (20, 12), (100, 10)] {
            let input = [UInt8](repeating: 0, count: width * height * 3)
            let output = try #require(
                try await process(
                    [input], .rgb24, width: width, height: height,
                    through: "preprocessor handler=watermark options=\"\(options)\""
                ).first)
            let middle = (height / 2 * width + width / 2) * 3
            // FFmpeg's red isn't exact, because it was converted from YUV.
            #expect(output[middle] >= 250 && output[middle + 1] <= 5, "\(width)×\(height)")
        }
    }

    @Test(
        "a watermark that can't be drawn is refused before the graph plays",
        arguments: [
            (
                "image=/nonexistent.png",
                "option image of watermark: /nonexistent.png can't be read: No such file or directory"
            ),
            (
                "text=\\\"   \\\"",
                "option text of watermark can't be drawn: nothing in the picture is visible"
            ),
            (
                "text=a,image=b",
                "options of watermark: image can't be combined with text or clock; set one or the other"
            ),
            (
                "corner=left",
                """
                option corner of watermark: expected one of top-left, top-right, bottom-left, bottom-right, center, \
                got "left"
                """
            ),
        ])
    func refused(_ options: String, _ message: String) async throws {
        let problem = try await failure(
            of: """
                videosource handler=counter ! preprocessor name=m handler=watermark options="\(options)" ! rawdatapipe
                """)
        // The check of the description reports most of these; only the node's start shows that nothing is visible.
        #expect(problem?.contains(": \(message)") == true, "\(problem ?? "no problem")")
    }
}
