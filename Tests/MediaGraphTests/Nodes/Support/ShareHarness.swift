import GStreamer
import TestSupport

@testable import MediaGraph
@testable import MediaGraphCore

/// A share whose sinks take buffers at once, with a log of the timestamps that leave each pad.
struct ShareHarness {
    static let frame = FrameDescription(width: 16, height: 16)
    static let frameBytes = patternedFrame(width: 16, height: 16)
    static let block = [Int16](repeating: 1000, count: 480)

    let graph: Graph
    let source = RecordingShare()
    let clock = TestClock()
    let videoTimes = Log<ClockTime>()
    let audioTimes = Log<ClockTime>()

    init(_ properties: String = "") throws {
        graph = try Graph(
            "sharesource name=s \(properties) ! fakesink sync=false  s.audio ! fakesink sync=false")
        graph.useClock(clock.clock)
        // Without `jitter=0` the first audio block would wait until its jitter is known, but this clock doesn't
        // advance by itself.
        try graph.element("share_audio").setProperty("jitter", parsing: "0")
        let element = try graph.element("s")
        for (pad, log) in [("src", videoTimes), ("audio", audioTimes)] {
            element.staticPad(pad)?.observeBuffers { log.add($0.presentationTimestamp ?? .zero) }
        }
    }

    var node: ShareSourceNode { get throws { try graph.shareSource("s") } }

    func attach() throws {
        try node.attach(source)
        try node.attach(audioSource: source)
    }

    func send() throws {
        try sendNow(source.sender, Self.frameBytes, Self.frame)
        try sendNow(source.audioSender, Self.block)
    }
}

/// Returns the code of the error that `body` throws, or `nil` if it succeeds.
func errorCode(_ body: () throws -> Void) -> MediaGraphError.Code? {
    do {
        try body()
        return nil
    } catch { return (error as? MediaGraphError)?.code }
}
