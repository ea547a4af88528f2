import GStreamer
import Testing

@testable import MediaGraph

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
        arguments: Resolution.allCases.filter { $0 != .native })
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
}
