import GStreamer
import TestSupport
import Testing

@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests the state machine of a pipe's subscription on its own.
@Suite struct DeliveryStateTests {
    private typealias State = DeliveryState<UnmanagedSample, PipeSignal>

    /// Wraps the state in a reference that `#expect` can call, and returns its answers as words.
    private final class Machine {
        var state = State()

        init(_ policy: OverflowPolicy? = nil, isOpen: Bool = true) {
            guard isOpen else { return }
            _ = state.arm()
            state.open(policy.map { State.Queue(bound: 2, policy: $0) })
        }

        var phase: State.Phase { state.phase }
        func arm() -> Bool { state.arm() }
        func reopen() -> Bool { state.reopen() }
        func release(_ hold: DeliveryHolds) -> Bool { state.release(hold) }
        func leave(_ outcome: DeliveryOutcome) { state.leave(outcome) }
        func hasEnded() -> Bool { state.hasEnded }
        func enterLast() -> Bool { state.enterLast(on: 1) == true }
        func isQuiet(for thread: UInt) -> Bool { state.isQuiet(for: thread) }

        /// Returns what the state does with a signal.
        func admit(_ signal: PipeSignal) -> String {
            switch state.admit(signal, on: 1) {
            case .deliver: "deliver"
            case .queued: "queued"
            case .ignored: "ignored"
            case .failed: "failed"
            case nil: "busy"
            }
        }

        func next() -> String {
            switch state.next(on: 2) {
            case .deliver: "frame"
            case .handle(.status(let on)): on ? "on" : "off"
            case .handle(.end): "end"
            case .handle(.stream): "stream"
            case .handle(.orientation): "orientation"
            case .handle(.alpha): "alpha"
            case .drop: "lost"
            case .exit: "exit"
            case nil: "wait"
            }
        }
    }

    @Test("RP-5 nothing is delivered before a run has opened or after it has stopped")
    func order() {
        let machine = Machine(isOpen: false)
        #expect(machine.admit(.status(true)) == "ignored")
        #expect(machine.arm())
        #expect(machine.admit(.status(true)) == "ignored")
        machine.state.open(nil)
        #expect(machine.admit(.status(true)) == "deliver")
        machine.leave(.passed)
        machine.state.stop()
        #expect(machine.phase == .idle)
        #expect(machine.admit(.status(true)) == "ignored")
        // A run that was never armed can't open.
        machine.state.open(nil)
        #expect(machine.phase == .idle)
    }

    @Test("EL-2 the end of the stream is delivered once, and once more after a flush")
    func end() {
        let machine = Machine()
        #expect(machine.admit(.end) == "deliver")
        machine.leave(.ended)
        #expect(machine.phase == .ended && machine.hasEnded())
        #expect(machine.admit(.end) == "ignored")
        #expect(!machine.enterLast())
        #expect(machine.reopen())
        #expect(machine.admit(.end) == "deliver")
    }

    @Test("EL-2 a flush removes the end of the stream from the queue and keeps the status")
    func flush() {
        let machine = Machine(.dropOldest)
        #expect(machine.admit(.status(true)) == "queued")
        #expect(machine.admit(.end) == "queued")
        #expect(!machine.hasEnded())
        machine.state.hold(.flushing)
        #expect(machine.hasEnded())
        #expect(machine.reopen())
        #expect(machine.release(.flushing))
        #expect(machine.next() == "on")
        machine.leave(.passed)
        #expect(machine.next() == "wait")
    }

    @Test("EL-1 a stop lets the delivery thread deliver queued signals and exit")
    func stop() {
        let machine = Machine(.dropOldest)
        #expect(machine.admit(.status(true)) == "queued")
        machine.state.hold(.stopping)
        #expect(machine.next() == "on")
        machine.leave(.passed)
        #expect(machine.next() == "exit")
    }

    @Test("EL-1 delivery may block in a handler again only after the last hold is released")
    func holds() {
        let machine = Machine()
        machine.state.hold(.paused)
        machine.state.hold(.flushing)
        #expect(!machine.release(.flushing))
        #expect(machine.release(.paused))
    }

    @Test("RP-9 after cancellation nothing is delivered in any state, and no run restarts it")
    func cancel() {
        let failed = Machine()
        _ = failed.admit(.end)
        failed.leave(.failed)
        let armed = Machine(isOpen: false)
        _ = armed.arm()
        for machine in [Machine(isOpen: false), armed, Machine(), Machine(.dropNewest), failed] {
            machine.state.cancel()
            #expect(machine.admit(.status(true)) == "ignored")
            #expect(machine.next() == "exit")
            #expect(!machine.arm() && !machine.reopen() && !machine.enterLast())
            machine.state.open(nil)
            machine.state.stop()
            #expect(machine.phase == .cancelled)
        }
    }

    @Test("RP-9 other threads wait for a running callback, but the callback's own thread doesn't")
    func quiet() {
        let machine = Machine()
        #expect(machine.admit(.status(true)) == "deliver")
        machine.state.cancel()
        #expect(machine.isQuiet(for: 1))
        #expect(!machine.isQuiet(for: 7))
        machine.leave(.passed)
        #expect(machine.isQuiet(for: 7))
    }

    @Test("RP-5 a failed handler gets nothing more in its run, and a released delegate nothing ever")
    func failure() {
        let machine = Machine()
        #expect(machine.admit(.status(true)) == "deliver")
        machine.leave(.failed)
        #expect(machine.phase == .failed && !machine.reopen())
        #expect(machine.arm())
        machine.state.open(nil)
        #expect(machine.admit(.status(true)) == "deliver")
        machine.leave(.gone)
        #expect(machine.phase == .cancelled)
    }

    @Test("SE-4 a detached handler gets nothing more in its run, and the next run begins anew")
    func detached() {
        for machine in [Machine(), Machine(.dropNewest)] {
            machine.leave(.detached)
            #expect(machine.phase == .detached)
            #expect(machine.admit(.status(true)) == "ignored" && machine.next() == "exit")
            #expect(!machine.reopen() && !machine.enterLast())
            machine.state.stop()
            #expect(machine.arm())
            machine.state.open(nil)
            #expect(machine.admit(.status(true)) == "deliver")
        }
    }
}
