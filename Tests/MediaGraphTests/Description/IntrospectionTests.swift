import GStreamer
import Testing

@testable import MediaGraph

@Suite struct IntrospectionTests {
    @Test("GR-4 a factory's pads and properties are known without creating an element")
    func factory() throws {
        let info = try #require(ElementFactoryInfo.find("videotestsrc"))
        #expect(info.classification == "Source/Video")
        #expect(info.pluginName == "videotestsrc")
        #expect(info.padTemplates.map(\.name) == ["src"])
        #expect(info.padTemplates[0].presence == .always)
        let pattern = try #require(info.property("pattern"))
        #expect(pattern.defaultText == "smpte")
        #expect(pattern.expectation.hasPrefix("one of smpte, snow, black"))
        #expect(info.property("is_live")?.name == "is-live")
        #expect(ElementFactoryInfo.lookUp("nosuchelement") == .unknown)
        #expect(ElementFactoryInfo.allNames.contains("fakesink"))
    }

    @Test(
        "GR-4 a property is in nanoseconds if its blurb mentions that unit first",
        arguments: [
            ("queue", "max-size-time", true), ("queue", "max-size-bytes", false), ("fakesink", "max-lateness", true),
            ("compositor", "latency", true), ("rtpjitterbuffer", "latency", false), ("identity", "sleep-time", false),
            ("alsasrc", "buffer-time", false), ("souphttpsrc", "timeout", false), ("rtspsrc", "timeout", false),
            ("videosource", "block-timeout", true), ("devicesource", "stall-timeout", true),
            ("virtualmic", "jitter", true), ("videotestsrc", "pattern", false),
        ])
    func nanoseconds(_ factory: String, _ property: String, _ isInNanoseconds: Bool) throws {
        try Nodes.register()
        let info = try #require(ElementFactoryInfo.find(factory)?.property(property))
        #expect(info.isInNanoseconds == isInNanoseconds, "\(info.blurb)")
    }

    @Test(
        "GR-4 pad names match their templates",
        arguments: [
            ("tsdemux", "video_0_0041", true), ("tsdemux", "video_x", false), ("tee", "src_0", true),
            ("tee", "src_%u", true),
            ("tee", "src_", false), ("tee", "src_a", false), ("rtpbin", "recv_rtp_src_0_123_96", true),
        ])
    func padNames(_ factory: String, _ pad: String, _ matches: Bool) throws {
        let info = try #require(ElementFactoryInfo.find(factory))
        #expect(info.padTemplates.contains { $0.matches(pad) } == matches)
    }

    @Test("GR-2 the caps of real elements pass the check before GStreamer's caps parser")
    func templateCaps() {
        for name in [
            "videotestsrc", "audioconvert", "jpegenc", "qtdemux", "rtpbin", "compositor", "opusdec", "h264parse",
            "mp4mux",
        ] {
            for template in ElementFactoryInfo.find(name)?.padTemplates ?? [] {
                #expect(throws: Never.self) { try Caps(checking: template.caps.description) }
            }
        }
    }
}
