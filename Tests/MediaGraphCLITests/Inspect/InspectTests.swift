import Foundation
import MediaGraph
import Testing

@testable import MediaGraphCLI

@Suite struct InspectTests {
    @Test("GR-4 inspect lists every node and every handler with its options")
    func overview() throws {
        let inspect = try Program.run("inspect")
        #expect(inspect.status == 0)
        #expect(inspect.errors == "")
        for node in Nodes.factoryNames { #expect(inspect.output.contains("\n  \(node) ")) }
        #expect(inspect.output.contains("\nhandlers of videosource\n"))
        #expect(inspect.output.contains("\n  counter         A moving pattern with the frame's number burnt in\n"))
        #expect(inspect.output.contains("fps=30            frames per second, such as 30 or 30000/1001\n"))
    }

    @Test("GR-4 inspect shows a node's pads, properties, messages and handlers")
    func node() throws {
        let output = try Program.run("inspect", "rawdatapipe").output
        for part in [
            "rawdatapipe  Raw data pipe\n", "\npads\n  sink  sink, always\n",
            "\n  max-frames  integer 1 … 1000, default 2, locked while running\n",
            "\n          drop-old  The oldest waiting frame is dropped\n", "\n  stats  structure, read only\n",
            "\nproperties of every GstBin\n", "\n  mediagraph-stream-status\n", "\nhandlers\n",
        ] { #expect(output.contains(part), "\(part)") }
    }

    @Test("GR-4 inspect shows a handler, and how to use it in a description")
    func handler() throws {
        #expect(
            try Program.run("inspect", "counter").output == """
                counter  handler of videosource
                  A moving pattern with the frame's number burnt in

                options
                  width=suggested   pixels in a row
                  height=suggested  rows
                  fps=30            frames per second, such as 30 or 30000/1001
                  frames=0          number of frames, after which the stream ends; 0 for an endless stream

                in a description
                  videosource handler=counter options="fps=30"

                """)
    }

    @Test(
        "GR-4 inspect shows any element of GStreamer",
        arguments: ["videotestsrc", "compositor", "decodebin", "filesink"])
    func stock(_ name: String) throws {
        let inspect = try Program.run("inspect", name)
        #expect(inspect.status == 0)
        #expect(inspect.output.hasPrefix("\(name)  "))
        #expect(inspect.output.contains("\nproperties\n"))
        for line in inspect.output.split(separator: "\n") where line.contains(", ") {
            #expect(TextWidth.columns(String(line)) <= 110, "\(line)")
        }
        let json = try Program.run("inspect", "--json", name)
        let record = try JSONDecoder().decode(ElementRecord.self, from: Data(json.output.utf8))
        #expect(record.name == name)
        #expect(!record.properties.isEmpty)
    }

    @Test("GR-4 the machine's elements can be inspected without a warning of GLib")
    func everything() throws {
        let all = try Program.shell(
            "gst-inspect-1.0 | grep -oE '^[a-z0-9]+:  [a-zA-Z0-9_-]+:' | awk -F'[ :]+' '{print $2}' | shuf -n 40 --random-source=/dev/zero"
                + " | while read n; do mediagraph inspect $n >/dev/null || echo \"failed $n\"; done")
        #expect(all.output == "")
        #expect(all.errors == "")
    }

    @Test("GR-4 the error of an unknown name suggests the nearest name")
    func unknown() throws {
        let inspect = try Program.run("inspect", "rawdatapip")
        #expect(inspect.status == 2)
        #expect(inspect.output == "")
        #expect(
            inspect.errors
                == "error: there is no node, handler or element \"rawdatapip\"; did you mean \"rawdatapipe\"?\n")
    }

    @Test("GR-4 the line that inspect shows for a handler works in a description")
    func examples() throws {
        for kind in HandlerRegistry.Kind.allCases {
            for handler in HandlerRegistry.shared.handlers(kind) {
                let output = try Program.run("inspect", handler.name).output
                let lines = output.split(separator: "\n").filter {
                    $0.hasPrefix("  ") && $0.contains("\(kind.node) handler=\(handler.name)")
                }
                let line = try #require(lines.first)
                let before: String
                switch kind {
                // The example of an audio processor contains its source.
                case .source, .microphone, .audioProcessor: before = ""
                case .audioConsumer: before = "audiotestsrc ! "
                case .processor, .consumer, .observer: before = "videotestsrc ! "
                }
                let after = [.consumer, .audioConsumer].contains(kind) ? "" : " ! fakesink"
                let check = try Program.run("check", before + line + after)
                // `check` warns if an example reads a file, which doesn't exist here.
                let mayWarn = handler.options.contains(where: \.isInput)
                #expect(check.status == 0 && (check.errors == "" || mayWarn), "\(check.errors)")
            }
        }
    }
}
