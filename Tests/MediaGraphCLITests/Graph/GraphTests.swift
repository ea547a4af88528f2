import Foundation
import Testing

@Suite struct GraphTests {
    @Test("GR-4 graph draws elements with their properties, and links with their caps")
    func dot() throws {
        let graph = try Program.run(
            "graph",
            "videotestsrc pattern=ball ! video/x-raw,format=I420 ! preprocessor name=p handler=invert ! tee name=t t.src_1 ! fakesink"
        )
        #expect(graph.status == 0)
        #expect(graph.errors == "")
        let lines = graph.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(lines.first == "digraph mediagraph {")
        #expect(lines.last == "}")
        #expect(lines.contains { $0.hasPrefix("n0:e -> n1:w [label=<") && $0.contains("video/x-raw<br/>format=I420") })
        #expect(lines.contains("n2:o0:e -> n3:w;"))
        #expect(lines.contains { $0.hasPrefix("n0 [") && $0.contains("pattern = ball") })
        #expect(lines.contains { $0.hasPrefix("n1 [fillcolor=\"#dcebff\"") && $0.contains("<i>p</i>") })
    }

    @Test("GR-4 graph writes pictures in several formats", arguments: ["svg", "png", "pdf", "dot"])
    func pictures(_ format: String) throws {
        let folder = TemporaryFolder()
        let file = folder.path("-a b.\(format)")
        // Names and values that contain Graphviz syntax.
        let graph = try Program.run(
            "graph", #"videotestsrc name="a<b>&\"c\"" ! ( name=bin identity ) ! filesink location="x\\n y.mkv""#, "-o",
            file)
        #expect(graph.status == 0, "\(graph.errors)")
        let data = try Data(contentsOf: URL(fileURLWithPath: file))
        let signatures = ["svg": "<?xml", "png": "PNG", "pdf": "%PDF", "dot": "digraph"]
        let beginning = data.prefix(8).filter { $0 < 0x80 }
        #expect(String(decoding: beginning, as: UTF8.self).hasPrefix(signatures[format]!))
    }

    @Test("GR-4 graph --details prints GStreamer's own drawing")
    func details() throws {
        let graph = try Program.run("graph", "--details", "videotestsrc ! fakesink")
        #expect(graph.status == 0)
        #expect(graph.output.hasPrefix("digraph pipeline {"))
    }

    @Test("GR-4 graph reports why it can't draw a picture")
    func failures() throws {
        let wrong = try Program.run("graph", "videotestsrc ! fakesnk")
        #expect(wrong.status == 2)
        #expect(wrong.output == "")
        #expect(try Program.run("graph", "videotestsrc ! fakesink", "-o", "x.bmp").status == 64)
        let unwritable = try Program.run("graph", "videotestsrc ! fakesink", "-o", "/no/such/folder/x.png")
        #expect(unwritable.status == 1)
        #expect(
            unwritable.errors == """
                error: "/no/such/folder/x.png" can't be written: there is no folder "/no/such/folder"; make it with \
                `mkdir -p /no/such/folder`

                """)
        let bare = try Program.run("graph", "videotestsrc ! fakesink", "x.svg")
        #expect(bare.status == 64)
        #expect(bare.errors.hasPrefix("error: the picture's file must follow -o: write -o x.svg\n"))
        let missing = try Program.shell("PATH=${PATH%%:*}; mediagraph graph 'fakesrc ! fakesink' -o x.svg")
        #expect(missing.status == 1)
        #expect(missing.errors.contains("apt install graphviz"))
    }

    @Test(
        "GR-4 a picture that doesn't fit on the disk is an error, and the existing file is kept",
        arguments: ["svg", "dot"])
    func fullDisk(_ format: String) throws {
        let folder = TemporaryFolder()
        let file = try folder.write("the picture before", to: "a.\(format)")
        // With this limit no file can grow, as on a full disk.
        let graph = try Program.shell(
            "set -o pipefail; (trap '' XFSZ; ulimit -f 0; mediagraph graph 'videotestsrc ! fakesink' -o '\(file)' 2>&1) | cat"
        )
        #expect(graph.status == 1)
        #expect(graph.output.contains("can't be written"), "\(graph.output)")
        #expect(try folder.text("a.\(format)") == "the picture before")
    }
}
