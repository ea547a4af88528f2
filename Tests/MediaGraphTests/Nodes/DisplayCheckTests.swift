import GStreamer
import Testing

@testable import MediaGraph
@testable import MediaGraphDevices

/// Tests the problems reported for sinks whose display is missing, some of which would end the program.
@Suite struct DisplayCheckTests {
    @Test(
        "GR-2 DirectFB's sink is an error without a framebuffer, also inside another element's property",
        arguments: [
            "videotestsrc ! dfbvideosink", "videotestsrc ! fpsdisplaysink video-sink=dfbvideosink",
            "playbin uri=file:///a.mkv video-sink=\"videoconvert ! dfbvideosink\"",
        ])
    func directFB(text: String) {
        func errors(_ check: DisplayCheck) -> [Diagnostic] {
            check.problems(among: Description(text).resolved().elements).filter { $0.severity == .error }
        }
        let found = errors(DisplayCheck(environment: { _ in ":0" }, hasFramebuffer: { false }))
        #expect(found.count == 1 && found[0].message.contains("/dev/fb0"), "\(found)")
        #expect(errors(DisplayCheck(environment: { _ in nil }, hasFramebuffer: { true })).isEmpty)
    }

    @Test(
        "GR-2 a sink whose screen is missing is a warning",
        arguments: [
            ("waylandsink", "WAYLAND_DISPLAY isn't set"), ("fbdevsink", "/dev/fb0 can't be opened"),
            ("kmssink", "/dev/dri/card0 can't be opened"),
        ])
    func screens(factory: String, lack: String) throws {
        try #require(ElementFactoryInfo.find(factory) != nil)
        let elements = Description("videotestsrc ! \(factory)").resolved().elements
        let without = DisplayCheck(environment: { _ in nil }, hasFramebuffer: { false }, hasScreen: { false })
        let found = without.problems(among: elements)
        #expect(found.map(\.severity) == [.warning])
        #expect(found.first?.message.hasSuffix(lack) == true, "\(found)")
        let with = DisplayCheck(environment: { _ in "x" }, hasFramebuffer: { true }, hasScreen: { true })
        #expect(with.problems(among: elements) == [])
    }

    @Test("GR-3 no element chooses DirectFB's sink automatically")
    func rank() throws {
        try Nodes.register()
        #expect(ElementFactoryInfo.rank(of: "dfbvideosink") ?? 0 == 0)
        #expect(try #require(ElementFactoryInfo.rank(of: "ximagesink")) > 0)
    }
}
