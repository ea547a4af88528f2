import GStreamer
import TestSupport
import Testing

@testable import MediaGraphDescription

/// Compares the project's lexer and parser with GStreamer's.
@Suite struct DifferentialTests {
    /// Descriptions that stock gst-launch accepts, without the comments and variables that only MediaGraph knows.
    static let corpus: [String] = [
        "fakesrc ! fakesink",
        "fakesrc!fakesink",
        "  fakesrc\t!\n identity !\r\n fakesink  ",
        "fakesrc num-buffers=5 is-live=true do-timestamp = 1 ! fakesink sync =true",
        "fakesrc is_live=true ! fakesink",
        "filesrc location=a#b ! fakesink",
        "filesrc location= #b ! fakesink",
        "filesrc location=\"a b\" ! fakesink",
        "filesrc location='a b' ! fakesink",
        "filesrc location=a\\ b ! fakesink",
        "filesrc location=\"a\\\"b\" name=\"n\" ! fakesink",
        "filesrc location=\"a\\\\b\" name=\"n\" ! fakesink",
        "filesrc location=a\"b\"c ! fakesink",
        "filesrc location=\"a\"b ! fakesink",
        "filesrc location=\\\"a ! fakesink",
        "filesrc location=a\\\\ b ! fakesink",
        "filesrc location=\"a\\\" ! fakesink",
        "filesrc location=\"\" ! fakesink",
        "filesrc location=a=b!c ! fakesink",
        "filesrc location=$HOME/x,y;z ! fakesink",
        "filesrc location=\"NULL\" ! fakesink",
        "filesrc location=ünïcode/日本 ! fakesink",
        "filesrc location=\"two\nlines\" ! fakesink",
        "videotestsrc pattern=snow ! video/x-raw,width=320,height=240 ! fakesink",
        "videotestsrc pattern=1 ! video/x-raw, format=(string)I420,\n framerate=30/1 ! fakesink",
        "videotestsrc ! video/x-raw(memory:SystemMemory),format={I420,RGB} ! fakesink",
        "videotestsrc ! video/x-raw,format=I420;video/x-raw,format=RGB ! fakesink",
        "videotestsrc ! video/x-raw,width=[1,100] ; video/x-raw , width=5 ! fakesink",
        "fakesrc ! application/x-test,a=\"x y\",d=\"e\\!f\" ! fakesink",
        "videotestsrc ! capsfilter caps=\"video/x-raw,format=I420\" ! fakesink",
        "videotestsrc ! capsfilter caps=video/x-raw,format=\\(string\\)I420 ! fakesink",
        "audiotestsrc ! audioconvert ! tee name=t t. ! queue ! fakesink t. ! queue ! fakesink",
        "tee name=t fakesrc ! t. t.src_0 ! fakesink t.src_1 ! fakesink",
        "tee name=t fakesrc ! t.sink t.src_%u ! fakesink",
        "fakesrc .src ! .sink fakesink",
        "fakesrc name=a identity name=b fakesink name=c a.src ! b.sink b. ! c.",
        "compositor name=c sink_0::xpos=5 sink_1::alpha=0.5 ! fakesink videotestsrc ! c.sink_0 videotestsrc ! c.sink_1",
        "( fakesrc ! identity ) ! fakesink",
        "fakesrc ! ( identity ! identity ) ! fakesink",
        "bin.( fakesrc ! fakesink )",
        "bin . ( name=b fakesrc ! fakesink )",
        "bin.(name=b message-forward=true identity name=i ) fakesrc ! i. i. ! fakesink",
        "( fakesrc ! ( identity ) ! fakesink )",
        "pipeline.( fakesrc ! fakesink )",
        "fakesrc : fakesink",
        "fakesrc ! identity : fakesink",
        "fakesrc : video/x-raw : fakesink",
        "fakesrc : video/x-raw ! fakesink",
        "file:///tmp/some%20thing ! fakesink",
        "fakesrc ! file:///tmp/mediagraph-never-opened",
        "decodebin name=d d. ! fakesink",
        "filesrc location=x ! decodebin ! videoconvert ! fakesink",
        "filesrc location=x ! qtdemux name=d d.video_0 ! queue ! fakesink d.audio_0 ! queue ! fakesink",
        "fakesink",
        "identity name=only",
        "fakesink name=a-b_c%d:e",
        "fakesrc name=\"with space\" ! fakesink",
        "textoverlay text=\"a ! b, c=d (e) # f\" ! fakesink",
        "videotestsrc foreground-color=0xff00ff00 ! fakesink",
        "audiotestsrc volume=1e-3 freq=.5 ! fakesink",
        "videotestsrc ! videobox border-alpha=0 top=-10 ! fakesink",
        "audiomixmatrix in-channels=2 out-channels=1 matrix=\"<<(double)1.0,(double)0.5>>\" ! fakesink",
        "playbin video-sink=\"videoconvert ! fakesink\" flags=video+audio",
        "playbin flags=0x3 audio-sink=fakesink",
        "videotestsrc ! videoconvert ! videoscale ! videorate ! video/x-raw,framerate=15/1 ! queue leaky=downstream max-size-buffers=1 ! fakesink",
        "fakesrc ! input-selector name=f ! fakesink fakesrc ! f. fakesrc ! f.sink_7",
        "audiotestsrc ! opusenc ! rtpopuspay pt=97 ! udpsink host=127.0.0.1 port=5000",
        "rtpbin name=r fakesrc ! r.send_rtp_sink_0 r.send_rtp_src_0 ! fakesink r.send_rtcp_src_0 ! fakesink",
    ]

    @Test("GR-1 what stock gst-launch accepts is accepted and passed on unchanged", arguments: corpus)
    func accepted(_ text: String) throws {
        #expect(try Description(text).resolved().text == text)
        #expect(Description(text).resolved().diagnose().map(\.description) == [])
    }

    @Test("GR-1 elements, properties and links are read as GStreamer reads them", arguments: corpus)
    func sameReading(_ text: String) throws {
        let parsed = DescriptionParser.parse(Array(text.utf8))
        let actual = try PipelineSnapshot(parsing: text)
        #expect(parsed.problems == [])
        let pairs = try Self.pairs(parsed, actual)
        for (index, element) in parsed.elements.enumerated() {
            guard !element.isURI, let pair = pairs[index] else { continue }
            let item = actual.items[pair]
            #expect(item.factory == element.factory)
            let factory = try #require(ElementFactoryInfo.find(element.factory))
            for property in element.properties where !property.isOfChild && property.name != "name" {
                let info = try #require(factory.property(property.name))
                guard info.kind != .element else { continue }
                let last = try #require(element.properties.last { $0.name == property.name })
                #expect(item.properties[info.name] == info.normalized(last.value))
            }
        }
        #expect(try Self.links(of: parsed, pairs) == Self.links(of: actual, Set(pairs.values)))
    }

    @Test("GR-1 comments, line breaks and variables don't change the meaning", arguments: corpus)
    func decorated(_ text: String) throws {
        let plain = try PipelineSnapshot(parsing: text)
        let tokens = Lexer.tokens(of: Array(text.utf8))
        var decorated = "# ! ( a comment\n"
        var previous = 0
        var variables: [String: String] = [:]
        for (index, token) in tokens.enumerated() {
            decorated += String(decoding: Array(text.utf8)[previous..<token.range.lowerBound], as: UTF8.self)
            // Tokens that touch must keep touching, because `a.(` isn't `a. (`.
            if token.range.lowerBound > previous { decorated += " # it's ( one !\n\t" }
            let source = String(decoding: Array(text.utf8)[token.range], as: UTF8.self)
            if index % 2 == 0, !source.contains("\"") {
                decorated += "${V\(index)}"
                variables["V\(index)"] = source
            } else {
                decorated += source.replacing("${", with: "$${")
            }
            previous = token.range.upperBound
        }
        decorated += " # the end"
        let expanded = try Description(decorated).resolved(with: variables).text
        #expect(try PipelineSnapshot(parsing: expanded) == plain)
    }

    @Test("GR-1 the parser and GStreamer find syntax errors in the same texts")
    func sameSyntaxErrors() throws {
        GStreamerRuntime.initialize()
        let pieces = [
            "identity", "identity", "fakesrc", "fakesink", "!", "!", "!", ":", "(", ")", "bin.(", "a.", "b.src",
            ".sink", ",", ".",
            "name=a", "name=b", "silent=true", "dump=\"true\"", "video/x-raw", ",width=5", ";", "\"", "'", "\\", "=",
            "#", " ", " ",
            " ", "\n", "x", "{", "identity ! identity", "fakesrc ! fakesink", "queue name=a",
        ]
        var random = SplitMix(seed: 0x6772_3200)
        var accepted = 0
        for _ in 0..<Soak.count(1200, soak: 4000) {
            let text = (0..<Int.random(in: 1...9, using: &random)).map { _ in
                pieces.randomElement(using: &random)! + (Bool.random(using: &random) ? " " : "")
            }.joined()
            let parsed = DescriptionParser.parse(Array(text.utf8))
            // Only this parser refuses unclosed quotes; otherwise GStreamer must agree with it. GStreamer doesn't get
            // text for which GLib would print a warning.
            if parsed.problems.contains(where: { $0.message.contains("quote") }) { continue }
            let otherProblems = DescriptionChecks.problems(in: parsed).filter { problem in
                problem.isCertain && !parsed.problems.contains(problem)
            }
            if otherProblems.contains(where: { $0.severity == .error && !$0.message.hasPrefix("no element") }) {
                continue
            }
            // GStreamer 1.22 crashes on a reference if a syntax error or a missing element leaves no element.
            let refers = Lexer.tokens(of: Array(text.utf8)).contains {
                if case .reference = $0.kind { true } else { false }
            }
            if refers, !parsed.problems.isEmpty || CheckContext(parsed).factories.isEmpty { continue }
            let verdict = DescriptionProbe.parse(text)
            if let verdict, verdict.isSyntaxError {
                #expect(!parsed.problems.isEmpty, "\(text.debugDescription): \(verdict.message)")
            } else if verdict == nil {
                accepted += 1
                #expect(parsed.problems.map(\.message) == [], "\(text.debugDescription) is fine for GStreamer")
            }
        }
        #expect(accepted > 30)
    }

    // MARK: Comparing

    /// Maps each parsed element's index to the index of GStreamer's element. A bin's children are in the order of the
    /// text.
    private static func pairs(_ parsed: ParsedDescription, _ actual: PipelineSnapshot) throws -> [Int: Int] {
        var pairs: [Int: Int] = [:]
        func match(_ parent: Int?, _ actualParent: Int?) throws {
            let ours = parsed.elements.indices.filter { parsed.elements[$0].parent == parent }
            let theirs = actual.items.indices.filter { actual.items[$0].parent == actualParent }
            try #require(ours.count <= theirs.count)
            // GStreamer adds the capsfilters after the elements.
            #expect(theirs.dropFirst(ours.count).allSatisfy { actual.items[$0].factory == "capsfilter" })
            for (index, their) in zip(ours, theirs) {
                pairs[index] = their
                if parsed.elements[index].isBin { try match(index, their) }
            }
        }
        // The snapshot starts below the top pipeline.
        try match(parsed.elements.first?.factory == "pipeline" ? 0 : nil, nil)
        return pairs
    }

    private struct Connection: Hashable {
        let source: Int
        let sink: Int
        let filter: String?
    }

    private static func links(of parsed: ParsedDescription, _ pairs: [Int: Int]) throws -> Set<Connection> {
        let context = CheckContext(parsed)
        let caps = ElementFactoryInfo.find("capsfilter")?.property("caps")
        return Set(
            try parsed.links.compactMap { link in
                let source = try #require(context.element(of: link.source))
                let sink = try #require(context.element(of: link.sink))
                // A demuxer's link is made later, when its pads appear.
                if context.factories[source]?.padTemplates.contains(where: {
                    $0.presence == .sometimes && $0.direction == .source
                })
                    == true, context.factories[source]?.name != "rtpbin"
                {
                    return nil
                }
                return Connection(
                    source: pairs[source]!, sink: pairs[sink]!,
                    filter: link.filter.flatMap { caps?.normalized($0.text) })
            })
    }

    /// Links between elements of the text. A link through a filter counts as one.
    private static func links(of actual: PipelineSnapshot, _ elements: Set<Int>) -> Set<Connection> {
        var result: Set<Connection> = []
        for link in actual.links where elements.contains(link.source) {
            if elements.contains(link.sink) {
                result.insert(Connection(source: link.source, sink: link.sink, filter: nil))
            } else if let next = actual.links.first(where: { $0.source == link.sink }) {
                let caps = actual.items[link.sink].properties["caps"]
                result.insert(Connection(source: link.source, sink: next.sink, filter: caps))
            }
        }
        return result
    }
}

extension GLibError {
    fileprivate var isSyntaxError: Bool { domain == "gst_parse_error" && code == 0 }
}

/// A small random number generator with a seed, so that a failure can be repeated.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
