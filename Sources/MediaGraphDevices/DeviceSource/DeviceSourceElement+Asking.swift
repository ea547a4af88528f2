import GStreamer
import MediaGraphCore

/// What the device is asked, and what becomes of it when it doesn't answer.
extension DeviceSourceElement {
    /// Milliseconds that the device has for its next answer.
    var patience: UInt64 {
        let (keeper, openingEnd) = position.withLock { ($0.thread, $0.openingEnd) }
        // A graph that starts waits less than its keeper.
        guard policy != .never, keeper?.isCurrent != true else {
            return max(settings.current.stallTimeout, DeviceSettings.leastPatience)
        }
        guard let openingEnd else { return DeviceSettings.startPatience }
        let left = (openingEnd - min(openingEnd, monotonicNanoseconds())) / 1_000_000
        // In tenths of a second: it is told.
        return max((left + 99) / 100 * 100, DeviceSettings.leastPatienceForAnswer)
    }

    /// A step of a chain's. Throws what the device's elements said when they couldn't, which says more than the step's error.
    func ask<Answer: Sendable>(
        _ chain: DeviceChain, _ step: @escaping @Sendable () throws(MediaGraphError) -> Answer
    ) throws(MediaGraphError) -> Answer {
        let isFirst = position.withLock { position in
            defer { position.isTrying = true }
            return !position.isTrying
        }
        defer { if isFirst { position.withLock { $0.isTrying = false } } }
        do throws(MediaGraphError) {
            return try ask(chain.label, within: patience, isOpening: true, step, late: { chain.close() })
        } catch {
            throw position.withLock { $0.loss } ?? error
        }
    }

    /// - Parameter isOpening: it isn't worth while where nobody wants the device any more.
    func ask<Answer: Sendable>(
        _ label: String, within milliseconds: UInt64, isOpening: Bool = false,
        _ question: @escaping @Sendable () throws(MediaGraphError) -> Answer, late: @escaping @Sendable () -> Void = {}
    ) throws(MediaGraphError) -> Answer {
        func hang() -> MediaGraphError {
            // Whom nobody wants any more has had less time than that.
            let actual =
                position.withLock { $0.isUnwanted }
                ? "didn't answer before it was stopped" : "didn't answer within \(milliseconds) ms; it may be hanging"
            return .deviceGone(.init(label, actual: actual))
        }
        guard !isOpening || !position.withLock({ $0.isUnwanted }) else { throw hang() }
        let call = DeviceCall {
            Result { () throws(MediaGraphError) in try question() }
        } late: { [position] answer in
            // Who never answers keeps what he has.
            guard answer != nil else { return }
            late()
            position.withLock { ($0.unanswered, $0.nextTry) = ($0.unanswered - 1, 0) }
        }
        position.withLock { position in
            position.call = call
            // It was called off before it could be seen.
            if isOpening, position.isUnwanted { call.abandon() }
        }
        let answer = call.answer(within: milliseconds)
        position.withLock { position in
            position.call = nil
            if answer == nil { (position.isLeft, position.unanswered) = (true, position.unanswered + 1) }
        }
        guard let answer else { throw hang() }
        return try answer.get()
    }

    func go(_ chain: DeviceChain, to state: State) {
        let milliseconds = state == .playing ? patience : DeviceSettings.closingPatience
        demand(of: chain, within: milliseconds) { () throws(MediaGraphError) in
            if !chain.go(to: state) { throw .deviceGone(.init(chain.label, actual: "it can't be started")) }
        }
    }

    /// Of a device in its run: where it can't, or doesn't answer, it is lost.
    private func demand(
        of chain: DeviceChain, within milliseconds: UInt64,
        _ step: @escaping @Sendable () throws(MediaGraphError) -> Void
    ) {
        do throws(MediaGraphError) {
            try ask(chain.label, within: milliseconds, step, late: { chain.close() })
        } catch {
            position.withLock { if $0.loss == nil { $0.lose(error) } }
        }
    }

    /// Nothing is tried any more. The keeper tells who gives the stream, once: the base class would ask each that comes or goes
    /// meanwhile, and one that is just ending waits then, with the graph's state in its hands. Nor do a graph's devices that
    /// hang wait for each other so.
    func endStream() {
        position.withLock { position in
            if position.ending == .none { position.ending = .asked }
            // Whether the device is back doesn't matter any more.
            if position.standIn != nil { position.abandon() }
        }
    }

    /// What is on its way may wait for another device's stream to end, in a muxer that has both. Where the next is on its way
    /// already, it didn't: a sink that waits for each buffer's time takes one after the other.
    private func waitForDownstream(of flow: DeviceFlow) {
        let began = monotonicNanoseconds()
        let limit = 2 * DeviceSettings.closingPatience * 1_000_000
        while pad?.peer?.isTaking == true, !position.withLock(wakes: false, { $0.isUnwanted || $0.isStopping }) {
            let waited = monotonicNanoseconds() - began
            guard waited < limit, flow.silence >= waited else { return }
            sleepBriefly()
        }
    }

    /// Where the device doesn't answer, its stand-in ends the stream, or the loss.
    func tell(end giver: DevicePosition.Giver) {
        switch giver {
        case .standIn(let element): element.sendEndOfStream()
        case .device(let chain):
            waitForDownstream(of: chain.flow)
            demand(of: chain, within: DeviceSettings.closingPatience) { chain.element.sendEndOfStream() }
            position.withLock { $0.allowEnding() }
        }
    }
}
