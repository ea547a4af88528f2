import GStreamer
import Testing

@testable import MediaGraphDescription

@Suite struct NamesTests {
    @Test(
        "GR-1 a user's name in a pad's name keeps letters, digits and -, and other bytes become hex",
        arguments: [
            ("bob", "bob"), ("anna@x.de", "anna_40x_2Ede"), ("a_b", "a_5Fb"), ("Jürgen", "J_C3_BCrgen"), ("", ""),
            ("a-1", "a-1"),
            ("日", "_E6_97_A5"), ("\t", "_09"),
        ])
    func padNames(_ name: String, _ escaped: String) throws {
        #expect(PadName.escape(name) == escaped)
        #expect(try PadName.unescape(escaped) == name)
    }

    @Test(
        "GR-1 a pad name that isn't an escaped user name is a typed error",
        arguments: [
            ("a_", PadName.UnescapeError.badEscape("_")), ("a_4", .badEscape("_4")), ("_+1", .badEscape("_+1")),
            ("a.b", .badCharacter(".")), ("é", .badCharacter("é")), ("_FF", .notUTF8), ("_61", .notCanonical("a")),
            ("_2e", .notCanonical("_2E")),
        ])
    func badPadNames(_ name: String, _ error: PadName.UnescapeError) {
        #expect(throws: error) { try PadName.unescape(name) }
    }

    @Test("GR-1 an escaped name links a pad")
    func linkable() {
        let parsed = DescriptionParser.parse(Array("call.video_\(PadName.escape("anna@x.de/ü")) ! fakesink".utf8))
        #expect(parsed.problems == [])
        #expect(parsed.links.first?.source.pads.map(\.text) == ["video_anna_40x_2Ede_2F_C3_BC"])
    }

    @Test("GR-2 the nearest name needs the fewest edits, and too many edits give none")
    func nearest() {
        let names = ["preprocessor", "videosource", "fakesink", "fakesrc"]
        #expect(NearestName.find("preprocesor", among: names) == "preprocessor")
        #expect(NearestName.find("fakesnik", among: names) == "fakesink")
        #expect(NearestName.find("FakeSink", among: names) == "fakesink")
        #expect(NearestName.find("xylophone", among: names) == nil)
        // Of two equally near names, the one with the same beginning is chosen.
        #expect(NearestName.find("pulsrc", among: ["pnmsrc", "pulsesrc"]) == "pulsesrc")
        #expect(NearestName.find("x", among: ["y"]) == nil)
    }

    @Test("GR-2 the search for the nearest name overlooks no name that is near enough")
    func nearestOfMany() {
        var random = SplitMix(seed: 3)
        let known = ElementFactoryInfo.allNames
        for _ in 0..<60 {
            let names = (0..<100).map { _ in known.randomElement(using: &random)! }
            var word = Array(names[0].unicodeScalars)
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let other = "aZ_9-üß".unicodeScalars.randomElement(using: &random)!
                let place = Int.random(in: 0..<word.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0 where word.count > 1: word.remove(at: place)
                case 1: word.insert(other, at: place)
                case 2: word.swapAt(place, word.count - 1 - place)
                default: word[place] = other
                }
            }
            let name = String(String.UnicodeScalarView(word))
            let limit = word.count < 2 ? 0 : max(1, (word.count + 1) / 3)
            let least = names.map { NearestName.mistakes(name, $0) }.min()!
            let found = NearestName.find(name, among: names).map { NearestName.mistakes(name, $0) }
            #expect(found == (least <= limit ? least : nil), "\(name)")
        }
    }

    @Test("GR-2 Debian's package lists give the package of an element or of a URI's protocol")
    func packages() {
        let packages = DebianPackages {
            """
            Package: gstreamer1.0-plugins-ugly
            Gstreamer-Elements: a52dec, x264enc
            Package: gstreamer1.0-wpe
            Gstreamer-Uri-Sources: web+http, web+https
            Package: gstreamer1.0-other
            Gstreamer-Elements: x264enc
            """
        }
        #expect(packages.package(ofElement: "x264enc") == "gstreamer1.0-plugins-ugly")
        #expect(packages.package(ofElement: "nosuch") == nil)
        #expect(packages.package(ofURI: "web+https", isSink: false) == "gstreamer1.0-wpe")
        #expect(packages.package(ofURI: "web+https", isSink: true) == nil)
        // A few packages are known without apt's lists, and even if the package doesn't list its element.
        #expect(DebianPackages { "" }.package(ofElement: "a52dec") == nil)
        #expect(DebianPackages { "" }.package(ofElement: "rtspclientsink") == "gstreamer1.0-rtsp")
    }
}
