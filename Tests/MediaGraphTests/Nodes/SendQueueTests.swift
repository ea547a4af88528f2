import GStreamer
import Testing

@testable import MediaGraphCore
@testable import MediaGraphElements

extension Int: Queueable {
    public static var isBoundByTime: Bool { false }
    public var weight: Int { 1 }
    /// Timestamps of a camera with ten frames a second.
    public var timestamp: ClockTime? { .milliseconds(UInt64(self) * 100) }
    public var byteCount: Int { 1 }

    public final class Format: Sendable {}
    private static let small = Format()
    private static let large = Format()
    /// Numbers from 100 on have the other format.
    public var format: Format { self < 100 ? Self.small : Self.large }
    public func has(_ format: Format?) -> Bool { self.format === format }

    /// Accepts each number except 13, which always comes too early.
    public struct Timeline: SendTimeline {
        public init() {}
        public func stamp(_ payload: Int, _ time: SendTime, _ pace: Pace) -> Bool { payload != 13 }
        public func stampBeyondRate(_ payload: Int, _ time: SendTime) {}
    }
}

extension SendQueue<Int> {
    /// Offers a number with its timestamp.
    mutating func offer(_ number: Int) -> Offer { offer(number, .given(number.timestamp!), suspends: false) }
}

/// Tests the state machine between senders and a source's streaming thread, step by step.
@Suite struct SendQueueTests {
    /// Returns a queue of numbers as frames. Its steps are written as text, such as "1" or "caps segment on 1".
    private func queue(_ policy: OverflowPolicy = .block, bound: Int = 2) -> SendQueue<Int> {
        var queue = SendQueue<Int>()
        queue.initialize(bound: bound, policy: policy)
        return queue
    }

    /// Returns a queue as it is after `startSend` has returned.
    private func sendingQueue(_ policy: OverflowPolicy = .block, bound: Int = 2) -> SendQueue<Int> {
        var queue = queue(policy, bound: bound)
        queue.open()
        queue.opened()
        return queue
    }

    private func offer(_ queue: inout SendQueue<Int>, _ frame: Int) -> String {
        switch queue.offer(frame) {
        case .accepted: "accepted"
        case .dropped(let lost): "dropped \(lost)"
        case .full: "full"
        case .closed: "closed"
        case .tooFrequent: "too frequent"
        }
    }

    /// Returns all steps until the queue would wait or stops.
    private func steps(_ queue: inout SendQueue<Int>) -> [String] {
        var steps: [String] = []
        while let step = queue.next() {
            switch step {
            case .frame(let frame): steps.append("\(frame)")
            case .announced(let frame, let caps, let segment, let on):
                let events = [(caps, "caps"), (segment, "segment"), (on, "on")].filter(\.0).map(\.1)
                steps.append((events + ["\(frame)"]).joined(separator: " "))
            case .off(let isRequested): steps.append(isRequested ? "requested off" : "off")
            case .reconfigure: steps.append("reconfigure")
            case .drained: steps.append("drained")
            case .end:
                guard case .failure(let error) = queue.ending else { return steps + ["end"] }
                return steps + ["failure \(error.detail.subject)"]
            case .flush: return steps + ["flush"]
            }
        }
        return steps
    }

    @Test("VS-4 frames are accepted from open to close, and at no other time")
    func gate() {
        var queue = queue()
        #expect(offer(&queue, 1) == "closed")
        queue.open()
        #expect(offer(&queue, 2) == "accepted")
        queue.opened()
        #expect(offer(&queue, 3) == "accepted")
        queue.close()
        #expect(offer(&queue, 4) == "closed")
        #expect(queue.uninitialize() == [2, 3])
        #expect(offer(&queue, 5) == "closed")
    }

    @Test("VS-4 during the state change a blocking queue accepts more frames than its bound")
    func starting() {
        var queue = queue()
        queue.open()
        #expect((1...5).map { offer(&queue, $0) } == Array(repeating: "accepted", count: 5))
        queue.opened()
        #expect(offer(&queue, 6) == "full")
        #expect(steps(&queue) == ["caps segment on 1", "2", "3", "4", "5"])
    }

    @Test("VS-8 a full queue drops the oldest frame, drops the new one, or makes the sender wait")
    func overflow() {
        for (policy, third, left) in [
            (OverflowPolicy.dropOldest, "dropped 1", ["caps segment on 2", "3"]),
            (.dropNewest, "dropped 3", ["caps segment on 1", "2"]),
            (.block, "full", ["caps segment on 1", "2"]),
        ] {
            var queue = sendingQueue(policy)
            #expect((1...3).map { offer(&queue, $0) } == ["accepted", "accepted", third])
            #expect(steps(&queue) == left)
        }
    }

    @Test("RP-4 the status is on before a cycle's first frame and off after its last")
    func status() {
        var queue = sendingQueue()
        _ = offer(&queue, 1)
        _ = offer(&queue, 2)
        queue.close()
        #expect(!queue.isDrained)
        #expect(steps(&queue) == ["caps segment on 1", "2", "off", "drained"])
        #expect(queue.isDrained)
        queue.open()
        #expect(steps(&queue) == [])
        _ = offer(&queue, 3)
        #expect(steps(&queue) == ["on 3"])
    }

    @Test("RP-4 a cycle without frames has no status and nothing to drain")
    func emptyCycle() {
        var queue = queue()
        queue.open()
        queue.close()
        #expect(queue.isDrained)
        #expect(steps(&queue) == [])
    }

    @Test("RP-4 an overdue off comes before the frames of the next cycle")
    func overdue() {
        var queue = sendingQueue()
        _ = offer(&queue, 1)
        _ = queue.next()
        _ = offer(&queue, 2)
        queue.close()
        queue.abandonDrain()
        #expect(steps(&queue) == ["off"])
        queue.open()
        #expect(steps(&queue) == ["on 2"])
    }

    @Test("SE-8 the off of a source that was asked to stop says so, however late it goes out, and no later off does")
    func requestedOff() {
        var queue = sendingQueue()
        _ = offer(&queue, 1)
        _ = queue.next()
        queue.close(isRequested: true)
        queue.abandonDrain()
        queue.open()
        _ = offer(&queue, 2)
        #expect(steps(&queue) == ["requested off", "on 2"])
        queue.close()
        #expect(steps(&queue) == ["off", "drained"])
        // Nothing was on when the source was asked.
        queue.open()
        queue.close(isRequested: true)
        queue.open()
        _ = offer(&queue, 3)
        queue.end(.endOfStream)
        #expect(steps(&queue) == ["on 3", "off", "end"])
    }

    @Test("VM-1 closed behind stopped sinks, the queue sends only status off and keeps its frames")
    func keptFrames() {
        var queue = sendingQueue()
        _ = offer(&queue, 1)
        _ = queue.next()
        _ = offer(&queue, 2)
        queue.close(keepsFrames: true)
        #expect(queue.isOffHeld && !queue.isDrained)
        #expect(steps(&queue) == ["off", "drained"])
        #expect(!queue.isOffHeld && queue.isDrained)
        queue.open()
        #expect(steps(&queue) == ["on 2"])
    }

    @Test("RP-4 closed behind stopped sinks while status off is going out, the queue waits until it has")
    func closedWhileOffGoesOut() {
        for keepsFrames in [false, true] {
            var queue = sendingQueue()
            _ = offer(&queue, 1)
            _ = queue.next()
            if !keepsFrames { #expect(queue.next() == nil) }
            queue.close(keepsFrames: keepsFrames)
            guard case .off = queue.next() else {
                Issue.record("no status off")
                return
            }
            queue.close(keepsFrames: true)
            #expect(!queue.isDrained)
            #expect(steps(&queue) == ["drained"])
            #expect(queue.isDrained)
        }
    }

    @Test("VM-1 a queue that is closed while it is flushing has nothing to drain")
    func closedWhileFlushing() {
        for keepsFrames in [false, true] {
            var queue = sendingQueue()
            _ = offer(&queue, 1)
            _ = queue.next()
            _ = queue.flush()
            queue.close(keepsFrames: keepsFrames)
            #expect(queue.isDrained)
            queue.resume()
            #expect(steps(&queue) == ["off"])
        }
    }

    @Test("EL-2 the end comes after the queued frames and the status off, and then no frame is accepted")
    func ending() {
        var queue = sendingQueue()
        _ = offer(&queue, 1)
        queue.end(.failure(.internalError(.init("first"))))
        queue.end(.endOfStream)
        #expect(offer(&queue, 2) == "closed")
        #expect(steps(&queue) == ["caps segment on 1", "off", "failure first"])
    }

    @Test("EL-2 a flush returns the frames and stops the stream until it is over, and keeps the status")
    func flush() {
        var queue = sendingQueue()
        _ = offer(&queue, 1)
        _ = queue.next()
        _ = offer(&queue, 2)
        #expect(queue.flush() == [2])
        #expect(steps(&queue) == ["flush"])
        queue.resume()
        _ = offer(&queue, 3)
        #expect(steps(&queue) == ["3"])
    }

    @Test("VS-3 a request to renegotiate comes before the queued frames, once")
    func reconfigure() {
        var queue = sendingQueue()
        _ = offer(&queue, 1)
        queue.reconfigure()
        queue.reconfigure()
        #expect(steps(&queue) == ["reconfigure", "caps segment on 1"])
    }

    @Test("VS-1 initializing again discards the end, the frames and the status of the cycle before")
    func again() {
        var queue = queue()
        queue.open()
        _ = offer(&queue, 1)
        queue.end(.endOfStream)
        queue.initialize(bound: 1, policy: .block)
        #expect(queue.phase == .initialized)
        queue.open()
        queue.opened()
        #expect(offer(&queue, 2) == "accepted")
        #expect(steps(&queue) == ["caps segment on 2"])
    }

    @Test("EL-2 caps precede a frame of another format, and a segment comes once until a flush or new stream")
    func events() {
        var queue = sendingQueue(bound: 9)
        for frame in [1, 2, 101, 102] { _ = offer(&queue, frame) }
        #expect(steps(&queue) == ["caps segment on 1", "2", "caps 101", "102"])
        _ = queue.flush()
        queue.close()
        #expect(steps(&queue) == ["flush"])
        queue.resume()
        #expect(steps(&queue) == ["off"])
        queue.open()
        _ = offer(&queue, 103)
        #expect(steps(&queue) == ["segment on 103"])
        queue.streamBegins()
        _ = offer(&queue, 104)
        #expect(steps(&queue) == ["caps segment on 104"])
    }

    @Test("VS-8 a dropping queue counts by the frames' timestamps, even if the frames arrive at once")
    func stampedAhead() {
        var queue = sendingQueue(.dropOldest)
        queue.latencyNanoseconds = 500_000_000
        var accepted = 0
        while case .accepted = queue.offer(accepted + 1, .arrived(.zero), suspends: false), accepted < 99 {
            accepted += 1
        }
        // With a timestamp of 0.8 s, the first three frames are late.
        #expect(accepted == 7)
    }

    @Test("VS-8 a frame that comes too early is refused, unless it has waited and has no timestamp")
    func tooFrequent() {
        var queue = sendingQueue()
        #expect(offer(&queue, 13) == "too frequent" && queue.level == 0)
        guard case .tooFrequent = queue.offer(13, .given(.zero), suspends: true, hasWaited: true) else {
            Issue.record("accepted a frame whose own timestamp is too early")
            return
        }
        guard case .accepted = queue.offer(13, .arrived(.zero), suspends: true, hasWaited: true) else {
            Issue.record("refused a frame that has waited")
            return
        }
        #expect(steps(&queue) == ["caps segment on 13"])
    }
}
