import Foundation
import Testing

@testable import MediaGraphCLI

/// The layout of the pictures that `mediagraph graph` draws.
@Suite struct GraphPictureTests {
    private static let pipelines: [String] = {
        let folder = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../Pipelines").standardized
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".pipeline") }.sorted().map { folder.appendingPathComponent($0).path }
    }()

    // MARK: Pads

    @Test("GR-4 nothing in a picture overlaps a text", arguments: pipelines)
    func readable(_ file: String) throws {
        // Some descriptions need FILE; the others only warn about it.
        let picture = try DrawnPicture(file, "FILE=x.mkv")
        #expect(picture.unreadable == [])
        #expect(picture.texts.count > 3)
        #expect(picture.page.right < 1_200)
    }

    @Test("GR-4 a pad's name is in its element's box, where the link ends")
    func pads() throws {
        let picture = try DrawnPicture(
            """
            audiotestsrc ! tee name=t  t.src_1 ! queue ! m.sink_2  t.src_5 ! queue ! m.sink_0  t. ! fakesink
            audiomixer name=m ! fakesink
            """)
        #expect(picture.unreadable == [])
        for (element, pad, link, isHead) in [
            ("n1", "src_1", ("n1", "n2"), false), ("n1", "src_5", ("n1", "n3"), false),
            ("n5", "sink_2", ("n2", "n5"), true), ("n5", "sink_0", ("n3", "n5"), true),
        ] {
            let text = try #require(picture.text(pad, of: element))
            #expect(try #require(picture.nodes[element]).holds(text.box), "\(pad)")
            let points = try #require(picture.links.first { $0.tail == link.0 && $0.head == link.1 }).points
            let end = try #require(isHead ? points.last : points.first)
            #expect(abs(end.y - text.box.middle.y) < 4, "\(pad)")
        }
        // The link of the unnamed pad has its own end.
        let ends = try picture.links.filter { $0.tail == "n1" }.map { try #require($0.points.first).y.rounded() }
        #expect(Set(ends).count == 3)
    }

    // MARK: Values

    @Test("GR-4 times in nanoseconds are shown with units, and other numbers unchanged")
    func times() throws {
        let picture = try DrawnPicture(
            """
            audiotestsrc ! queue max-size-time=6000000000 min-threshold-time=20000000 max-size-bytes=4000000000 !
            identity sleep-time=2000000 ts-offset=-1500000 ! s.shared  virtualspeaker name=s latency=1000000000
            s.src ! audioconvert ! queue max-size-time=0 ! alsasink buffer-time=1000000 max-lateness=-1
            """)
        let lines = picture.texts.map(\.text)
        for line in [
            "max-size-time = 6 s", "min-threshold-time = 20 ms", "max-size-bytes = 4000000000", "sleep-time = 2000000",
            "ts-offset = -1.5 ms", "latency = 1 s", "max-size-time = 0", "buffer-time = 1000000", "max-lateness = -1",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
    }

    @Test(
        "GR-4 a time is shown exactly, in the largest unit",
        arguments: [
            (6_000_000_000, "6 s"), (1_500_000_000, "1.5 s"), (20_000_000, "20 ms"), (33_366_667, "33.366667 ms"),
            (1_000, "1 µs"), (999, "999 ns"), (-20_000_000, "-20 ms"), (90_000_000_001, "90.000000001 s"),
            (.min, "-9223372036.854775808 s"),
        ] as [(Int64, String)])
    func time(_ nanoseconds: Int64, _ text: String) { #expect(Numbers.time(nanoseconds: nanoseconds) == text) }

    @Test("GR-4 options are below their handler, pad properties in one line, and long values keep their ends")
    func values() throws {
        let path = "/a/very/long/path/to/some/file/which/has/its/name/at/the/end/film-%d.png"
        let picture = try DrawnPicture(
            """
            sharesource name=s options="width=320,height=240" audio-options=frequency=440 handler=counter audio-handler=tone
            s. ! rawdatapipe handler=snapshot options="location=\\"\(path)\\",every=3" s.audio ! fakesink
            videotestsrc ! m. compositor name=m sink_0::xpos=3 sink_0::ypos=4 ! fakesink
            """)
        #expect(
            picture.lines(of: "n0") == [
                "sharesource", "s", "handler = counter", "width = 320", "height = 240", "audio-handler = tone",
                "frequency = 440", "audio",
            ])
        #expect(
            picture.lines(of: "n1") == [
                "rawdatapipe", "handler = snapshot", "location = \(DotText.shortened(path))", "every = 3",
            ])
        #expect(DotText.shortened(path).hasSuffix("/end/film-%d.png"))
        #expect(picture.lines(of: "n4") == ["compositor", "m", "sink_0: xpos = 3, ypos = 4"])
    }

    // MARK: Rooms

    @Test("GR-4 sessions that meet are drawn in one room, others in another room")
    func rooms() throws {
        let picture = try DrawnPicture(
            """
            mediasession name=a user=a  mediasession name=b user=b room=default
            mediasession name=c user=c room="x<y>&"  mediasession name=d user=d room="x<y>&"
            videotestsrc ! a.camera  b.video_a ! fakesink
            videotestsrc ! c.camera  d.video_c ! fakesink
            """)
        #expect(picture.unreadable == [])
        #expect(picture.clusters.count == 2)
        let (first, second) = (
            try #require(picture.clusters["clusterroom0"]), try #require(picture.clusters["clusterroom1"])
        )
        #expect(!first.overlaps(second))
        for (node, box) in picture.nodes {
            #expect(first.holds(box) == ["n0", "n1", "titleroom0"].contains(node), "\(node)")
            #expect(second.holds(box) == ["n2", "n3", "titleroom1"].contains(node), "\(node)")
        }
        #expect(picture.lines(of: "titleroom0") == ["room", "default"])
        #expect(picture.lines(of: "titleroom1") == ["room", "x<y>&"])
        // The session's box doesn't repeat the room.
        #expect(picture.lines(of: "n1") == ["mediasession", "b", "user = b", "video_a"])
    }

    @Test("GR-4 the parts of a room in several bins are connected")
    func roomInBins() throws {
        let picture = try DrawnPicture(
            """
            bin.( name=left mediasession name=a user=a videotestsrc ! a.camera )
            bin.( name=right mediasession name=b user=b b.video_a ! fakesink )
            """)
        #expect(picture.unreadable == [])
        #expect(picture.links.contains { $0.tail == "n1" && $0.head == "n4" })
        #expect(picture.dot.contains("ltail=clusterroom0, lhead=clusterroom1"))
    }

    // MARK: The page

    @Test("GR-4 a long chain is drawn in rows, in alternating directions")
    func chain() throws {
        let elements = (1...28).map { "identity name=i\($0)" }
        let picture = try DrawnPicture(
            (["videotestsrc"] + elements + ["video/x-raw,format=I420", "fakesink"]).joined(separator: " ! "))
        #expect(picture.unreadable == [])
        #expect(picture.page.right < 1_000)
        #expect(picture.page.right > picture.page.top)
        // Each element is next to the element before it, or below it.
        for index in 1..<30 {
            let (before, next) = (
                try #require(picture.nodes["n\(index - 1)"]), try #require(picture.nodes["n\(index)"])
            )
            let isBeside = abs(before.middle.y - next.middle.y) < 1
            #expect(isBeside || next.top < before.bottom && abs(before.middle.x - next.middle.x) < 40, "n\(index)")
        }
        #expect(picture.lines(of: "caps28") == ["video/x-raw", "format=I420"])
        for (tail, head) in [("n28", "caps28"), ("caps28", "n29")] {
            #expect(picture.links.contains { $0.tail == tail && $0.head == head }, "\(tail)->\(head)")
        }
    }

    @Test("GR-4 chains that aren't linked are drawn next to each other")
    func chains() throws {
        let elements = Array(repeating: "identity", count: 12).joined(separator: " ! ")
        let chains = Array(repeating: "videotestsrc ! \(elements) ! fakesink", count: 8)
        let picture = try DrawnPicture(chains.joined(separator: "  "))
        #expect(picture.unreadable == [])
        #expect(picture.page.right < 4 * picture.page.top)
    }

    @Test("GR-4 a chain that fits is drawn in one row")
    func shortChain() throws {
        let picture = try DrawnPicture("videotestsrc ! video/x-raw,format=I420 ! videoconvert ! tee ! fakesink")
        #expect(Set(picture.nodes.values.map { ($0.middle.y).rounded() }).count == 1)
        #expect(picture.lines(of: "n0->n1") == ["video/x-raw", "format=I420"])
    }

    @Test("GR-4 a chain from a session back to the same session is drawn", arguments: [1, 12])
    func circle(_ length: Int) throws {
        let queues = (1...length).map { "queue name=q\($0)" }.joined(separator: " ! ")
        let picture = try DrawnPicture("mediasession name=a user=a  a.video_b ! \(queues) ! a.camera")
        #expect(picture.unreadable == [])
        #expect(picture.links.count == length + 1)
    }

    // MARK: The legend

    @Test(
        "GR-4 the legend lists the kinds of elements in the picture if there are several",
        arguments: [
            ("videotestsrc ! fakesink", []),
            ("videotestsrc ! rawdatapipe handler=count", ["MediaGraph node", "GStreamer element"]),
            ("videotestsrc ! ( identity ) ! fakesink", ["GStreamer element", "bin"]),
            (
                "file:///dev/null ! decodebin ! fakesink",
                ["GStreamer element", "URI", "linked at run time"]
            ),
            (
                "mediasession name=a user=a videotestsrc ! a.camera",
                ["MediaGraph node", "GStreamer element", "session room"]
            ),
        ] as [(String, [String])])
    func legend(_ description: String, _ kinds: [String]) throws {
        let known = [
            "MediaGraph node", "GStreamer element", "URI", "bin", "session room", "linked at run time",
        ]
        let picture = try DrawnPicture(description)
        #expect(picture.lines(of: "mediagraph").filter(known.contains) == kinds)
        #expect(picture.unreadable == [])
        #expect(picture.dot.contains("style=dashed]") == kinds.contains("linked at run time"))
    }
}
