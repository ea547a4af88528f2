import GStreamer
import TestSupport
import Testing

/// Tests links that change while data flows.
@Suite(.timeLimit(.minutes(10))) struct RelinkingTests {
    @Test("FO-7 an element that is linked while the caps are being sent gets the caps before its first frame")
    func whileSendingCaps() async throws {
        let pipeline = try Pipeline(
            parsing:
                "videotestsrc num-buffers=3 name=source ! fakesink name=old async=false  fakesink name=new async=false"
        )
        defer { pipeline.setState(.null) }
        let source = try #require(pipeline.element(named: "source")?.staticPad("src"))
        let old = try #require(pipeline.element(named: "old")?.staticPad("sink"))
        let new = try #require(pipeline.element(named: "new")?.staticPad("sink"))
        let caps = Log<Caps>()
        let hasCaps = Log<Bool>()
        old.observeCaps { _ in
            // The caps are on their way to the old element, so the link changes as soon as they have arrived there.
            source.whenIdle {
                source.unlink(from: old)
                _ = source.link(to: new)
            }
        }
        new.observeCaps { caps.add($0) }
        new.observeBuffers { _ in hasCaps.add(new.currentCaps != nil) }
        pipeline.setState(.playing)
        #expect(try await eventually { hasCaps.all.count == 3 })
        #expect(hasCaps.all == [true, true, true] && caps.all.count == 1)
    }
}
