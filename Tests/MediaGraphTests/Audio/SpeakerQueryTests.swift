import CMediaGraphABI
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests a speaker's answers to queries from upstream.
@Suite struct SpeakerQueryTests {
    private static let caps = "audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved"

    @Test("EL-3 ALLOCATION is answered at once, even while an editor blocks the mix")
    func allocation() throws {
        try Nodes.register()
        let speaker = try #require(Element(factory: "virtualspeaker"))
        let isBusy = Log<Bool>()
        let isFree = BlockingMonitor(false)
        let editor = Waiter(onBlock: {
            isBusy.add(true)
            _ = isFree.wait { $0 ? true : nil }
        })
        try NodeVTable.attach(MGAudioProcessor(editor, name: "waiter"), to: speaker)
        let user = Harness(speaker, sink: "user_anna", source: nil)
        user.setSourceCaps(Self.caps)
        let block = Buffer([UInt8](repeating: 0, count: 960))
        block.access.presentationTimestamp = .zero
        block.access.duration = .milliseconds(10)
        #expect(user.push(block) == .ok)
        #expect(waitUntil { !isBusy.all.isEmpty })

        // Releases the editor, so that a query that waits for the mix fails the test instead of hanging.
        let answers = Log<Bool>()
        let answeredInTime = Log<Bool>()
        let release = NativeThread("release") {
            answeredInTime.add(waitUntil { !answers.all.isEmpty })
            isFree.withLock { $0 = true }
        }
        answers.add(user.queryAllocation(Self.caps))
        release.join()
        #expect(answeredInTime.all == [true] && answers.all == [false])
    }

    private struct Waiter: AudioProcessor {
        let onBlock: @Sendable () -> Void

        func process(_ frame: inout AudioFrame) -> Verdict {
            onBlock()
            return .pass
        }
    }
}
