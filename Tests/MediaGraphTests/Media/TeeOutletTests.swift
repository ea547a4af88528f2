import GStreamer
import TestSupport
import Testing

@Suite struct TeeOutletTests {
    @Test("SE-1 an outlet requested while a tee's stream begins gets a segment before its first buffer")
    func whileStreamBegins() throws {
        // Without a segment, GLib prints a warning, which ends the run.
        for round in 0..<400 {
            let pipeline = try Pipeline(
                parsing: "fakesrc num-buffers=40 ! tee name=t allow-not-linked=true  fakesink name=s async=false")
            let tee = try #require(pipeline.element(named: "t"))
            let sink = try #require(pipeline.element(named: "s")?.staticPad("sink"))
            pipeline.setState(.paused)
            let end = monotonicNanoseconds() + UInt64(round % 100) * 2000
            while monotonicNanoseconds() < end {}
            #expect(tee.requestTeeOutlet()?.link(to: sink) == true)
            pipeline.setState(.null)
        }
    }
}
