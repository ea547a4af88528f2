import GStreamer
import TestSupport
import Testing

/// Where a frame's planes lie, as another process says.
@Suite struct VideoLayoutTests {
    init() { GStreamerRuntime.initialize() }

    private static let formats = [
        "I420", "NV12", "NV21", "YUY2", "UYVY", "AYUV", "RGB", "BGRx", "RGBA", "GRAY8", "GRAY16_LE", "Y42B", "Y444",
        "A420", "v210", "P010_10LE", "I420_10LE", "YUV9", "NV12_64Z32", "RGB16", "GBR", "NV24",
    ]

    @Test("SE-3 every format's frames, of an odd size too, lie within their memory", arguments: formats)
    func wholeFrames(format: String) throws {
        for (width, height) in [(64, 48), (33, 17), (1, 1)] {
            let caps = try #require(Caps("video/x-raw,format=\(format),width=\(width),height=\(height),framerate=1/1"))
            let info = try #require(VideoInfo(caps))
            let layout = VideoLayout(of: info)
            #expect(layout.fits(in: info.size), "\(width)×\(height)")
            #expect(!layout.fits(in: (info.size - 1) / 4), "\(width)×\(height)")
        }
    }

    @Test("SE-3 a layout that speaks of what isn't there is none")
    func impossible() throws {
        func fits(_ words: [UInt64], in size: Int = 384) throws -> Bool {
            try #require(VideoLayout(words: words)).fits(in: size)
        }
        let (size, negative) = (16 << 32 | 16 as UInt64, UInt64(UInt32(bitPattern: -16)))
        #expect(try fits([2, size, 0, 16, 256, 8, 320, 8]))
        #expect(try !fits([2, size, 0, 16, 256, 8, 320, 8], in: 383))
        // Rows that are further apart, the last as long as it must be.
        #expect(try fits([2, size, 0, 32, 512, 16, 640, 16], in: 640 + 7 * 16 + 8))
        #expect(try !fits([2, size, 0, 32, 512, 16, 640, 16], in: 640 + 7 * 16 + 7))
        #expect(try !fits([2, size, 0, 1 << 20, 256, 8, 320, 8]))
        #expect(try !fits([2, size, 0, 16, 256, 8, .max, 8]))
        #expect(try !fits([2, size, 0, negative, 256, 8, 320, 8]))
        #expect(try !fits([2, size, 0, 16, 256, 8]))
        #expect(try !fits([999, size, 0, 16, 256, 8, 320, 8]))
        #expect(try !fits([2, 0, 0, 16, 256, 8, 320, 8]))
        #expect(try !fits([2, .max, 0, 16, 256, 8, 320, 8]))
    }
}
