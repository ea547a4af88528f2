import GStreamer
import MediaGraph
import Testing

@testable import MediaGraphCLI

@Suite struct LevelMetersTests {
    private static func level(_ stream: String, _ user: String? = nil, rms: Double, peak: Double) -> Structure {
        Structure(
            "mediagraph-level",
            [("stream", stream), ("rms", rms), ("peak", peak)] + (user.map { [("user", $0)] } ?? []))
    }

    private static func lines(_ meters: LevelMeters, width: Int = 100, height: Int = 20) -> [String] {
        meters.lines(style: .plain, width: width, height: height).map(\.text)
    }

    @Test("SP-1 each stream has a level meter, which disappears when the stream ends")
    func meters() {
        var meters = LevelMeters()
        for message in [
            Self.level("mixed", rms: -60, peak: -700), Self.level("one-way", "bob", rms: -30, peak: -6.25),
            Self.level("one-way", "bob", rms: 0, peak: 0),
        ] {
            let isTaken = meters.add("ears", message)
            #expect(isTaken)
        }
        #expect(
            Self.lines(meters) == [
                "  ears mixed  ------------------------  -60.0 dB, peak  -inf dB",
                "  ears bob    ########################    0.0 dB, peak   0.0 dB",
            ])
        for width in 1...80 { #expect(Self.lines(meters, width: width).allSatisfy { TextWidth.columns($0) <= width }) }
        #expect(Self.lines(meters, height: 1).count == 1)
        let off = Structure("mediagraph-audio-status", [("stream", "one-way"), ("user", "bob"), ("on", false)])
        let isLevel = meters.add("ears", off)
        #expect(!isLevel && Self.lines(meters).count == 1)
    }

    @Test("SP-1 a user may have the name of a stream, such as mixed")
    func names() {
        var meters = LevelMeters()
        for message in [
            Self.level("mixed", rms: -10, peak: -3), Self.level("one-way", "mixed", rms: -20, peak: -3),
            Self.level("shared", rms: -30, peak: -3), Self.level("one-way", "shared", rms: -40, peak: -3),
        ] { _ = meters.add("s", message) }
        #expect(Self.lines(meters).count == 4)
    }
}
