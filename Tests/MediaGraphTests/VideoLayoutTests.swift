import GStreamer
import TestSupport
import Testing

/// Tests layouts of frames' planes, as another process sends them.
@Suite struct VideoLayoutTests {
    init() { GStreamerRuntime.initialize() }

    @Test("SE-3 frames of each raw format and of odd sizes fit in their memory, and not in less")
    func wholeFrames() throws {
        let formats = Caps.anyRawVideo[0].names("format")
        #expect(formats.count > 80)
        for format in formats {
            for (width, height) in [(1920, 1080), (640, 480), (33, 17)] {
                let caps = "video/x-raw,format=\(format),width=\(width),height=\(height),framerate=1/1"
                let info = try #require(Caps(caps).flatMap(VideoInfo.init))
                let layout = VideoLayout(of: info)
                #expect(layout.fits(in: info.size), "\(format) \(width)×\(height)")
                #expect(!layout.fits(in: info.size * 7 / 10), "\(format) \(width)×\(height)")
                // Rows that overlap, or almost.
                for stride in [0, 1] as [UInt64] {
                    var words = layout.words
                    for index in Swift.stride(from: 3, to: words.count, by: 2) { words[index] = stride }
                    let narrow = try #require(VideoLayout(words: words))
                    // Such a layout has no more bytes than a frame of one row.
                    #expect(!narrow.fits(in: info.size / height / 2), "\(format) \(width)×\(height), stride \(stride)")
                }
            }
        }
    }

    @Test("SE-3 a layout that exceeds its memory or is inconsistent is rejected")
    func impossible() throws {
        func fits(_ words: [UInt64], in size: Int = 384) throws -> Bool {
            try #require(VideoLayout(words: words)).fits(in: size)
        }
        let (size, negative) = (16 << 32 | 16 as UInt64, UInt64(UInt32(bitPattern: -16)))
        #expect(try fits([2, size, 0, 16, 256, 8, 320, 8]))
        #expect(try !fits([2, size, 0, 16, 256, 8, 320, 8], in: 383))
        // Rows with padding, of which the last one may be shorter.
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
