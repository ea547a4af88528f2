import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphDevices
@testable import MediaGraphElements
@testable import MediaGraphHandlers

/// Compares the messages about what a machine lacks with the list `Tests/Messages/machine.txt`.
@Suite struct MachineMessageTests {
    init() throws { try Nodes.register() }

    /// A machine without a display, a framebuffer, fonts and a name server.
    private static let checks: [any DescriptionCheck] = [
        DisplayCheck(environment: { _ in nil }, hasFramebuffer: { false }, hasScreen: { false }),
        FontCheck(hasFonts: { false }), HostCheck { _ in "no name server answered" },
    ]

    private static let descriptions = [
        "videotestsrc ! ximagesink", "videotestsrc ! autovideosink", "${SINK:-ximagesink}",
        "videotestsrc ! waylandsink",
        "ximagesrc ! fakesink", "videotestsrc ! fbdevsink", "videotestsrc ! kmssink", "videotestsrc ! dfbvideosink",
        "videotestsrc ! clockoverlay ! fakesink",
        "videotestsrc ! preprocessor handler=watermark options=\"text=a\" ! fakesink",
        "videotestsrc ! udpsink host=nosuch.example",
    ]

    @Test("GR-2 what a machine lacks for a description is said as in the list machine.txt")
    func machine() throws {
        let current = Self.descriptions.map { text in
            let elements = Description(text, name: "a.pipeline").resolved().elements
            let found = Self.checks.flatMap { $0.problems(among: elements) }
            return MessageList.Section(
                input: [text], text: found.map { $0.rendered(color: false) }.joined(separator: "\n"))
        }
        for section in current { #expect(!section.text.isEmpty, "\(section.input)") }
        if let differences = try MessageList("machine.txt").differences(from: current) {
            Issue.record("\(differences)")
        }
    }
}
