import GStreamer
import Synchronization

/// The receiver of a `DeliveryLine`. Calls to `deliver` and `handle` never overlap.
protocol DeliveryReceiver: AnyObject, Sendable {
    /// A frame as it waits in the queue.
    associatedtype Frame: Sendable
    associatedtype Signal: DeliverySignal
    func deliver(_ frame: Frame) -> DeliveryOutcome
    func handle(_ signal: Signal) -> DeliveryOutcome
    /// Releases a frame that couldn't be delivered, and counts it as dropped.
    func drop(_ frame: Frame)
    /// Releases a frame that a flush or the end of the run removed from the queue. It doesn't count as dropped.
    static func discard(_ frame: Frame)
}

/// Delivers frames and signals from one or several streaming threads to one receiver: the lock and the thread around a
/// `DeliveryState`.
///
/// If upstream may wait, the receiver is called on the streaming thread. Otherwise it is called on the delivery thread,
/// which takes frames from a bounded queue.
final class DeliveryLine<Receiver: DeliveryReceiver>: Sendable {
    typealias State = DeliveryState<Receiver.Frame, Receiver.Signal>

    private let monitor = BlockingMonitor(State())
    private let thread = Mutex<NativeThread?>(nil)

    // MARK: The run

    /// READY→PAUSED. Runs `armed` under the lock, unless the line is cancelled.
    func arm(_ armed: () -> Void) { monitor.withLock { if $0.arm() { armed() } } }

    /// Starts to accept frames. With a queue, starts the delivery thread, called `name`.
    func open(_ queue: State.Queue?, _ name: String, _ receiver: Receiver) {
        let queues = queue != nil
        monitor.withLock { $0.open(queue) }
        if queues { thread.withLock { $0 = NativeThread(name) { [self] in deliverAll(to: receiver) } } }
    }

    /// Adds a hold: nobody may wait in the handler until `release`. Runs `also` under the lock.
    func hold(_ reason: DeliveryHolds, also: () -> Void) {
        change {
            $0.hold(reason)
            also()
        }
    }

    /// Removes a hold. Runs `free` under the lock if it was the last hold.
    func release(_ reason: DeliveryHolds, free: () -> Void) { monitor.withLock { if $0.release(reason) { free() } } }

    /// FLUSH_STOP. Returns false outside a run.
    func reopen() -> Bool { change { $0.reopen() } }

    /// PAUSED→READY, after data flow has stopped and after `hold(.stopping)`. Waits for the callback in flight and runs
    /// `last`, unless the receiver has already been told the end or is cancelled.
    func stop(_ last: () -> Void) {
        join()
        if monitor.wait({ $0.enterLast(on: currentThreadID()) }) == true {
            last()
            leave(.passed)
        }
    }

    /// Ends the run and discards the frames that are still queued.
    func close() { change { $0.stop() } }

    /// Ends delivery for good. Blocks until no callback is in flight, except when called from a callback. Runs `also`
    /// under the lock. The caller calls `join` afterwards.
    func cancel(also: () -> Void) {
        change {
            $0.cancel()
            also()
        }
        let thread = currentThreadID()
        _ = monitor.wait { $0.isQuiet(for: thread) ? true : nil }
    }

    /// Waits until the delivery thread has ended.
    func join() { thread.withLock { $0.take() }?.join() }

    // MARK: On the streaming threads

    /// Decides what happens to a frame. After `.deliver`, the caller must deliver the frame and then call `leave`.
    /// Waits while another streaming thread is in a callback.
    @inline(__always)
    func admit(_ frame: () -> Receiver.Frame) -> State.Admission {
        monitor.wait { $0.admit(on: currentThreadID(), frame) }!
    }

    /// The same, but returns `.ignored` as soon as `isGone` returns true.
    func admit(unless isGone: () -> Bool, _ frame: () -> Receiver.Frame) -> State.Admission {
        monitor.wait { isGone() ? .ignored : $0.admit(on: currentThreadID(), frame) }!
    }

    /// The same for a signal.
    func admit(_ signal: Receiver.Signal, unless isGone: () -> Bool = { false }) -> State.Admission {
        monitor.wait { isGone() ? .ignored : $0.admit(signal, on: currentThreadID()) }!
    }

    /// Reports that the callback has returned.
    @inline(__always)
    func leave(_ outcome: DeliveryOutcome) {
        monitor.withLock { $0.leave(outcome) }
        // Discards the frames that these outcomes removed from the queue.
        if outcome == .gone || outcome == .detached { change { _ in } }
    }

    /// Waits until the receiver has been told end-of-stream. EOS on the bus means that every frame was delivered.
    func waitForEnd() { _ = monitor.wait { $0.hasEnded ? true : nil } }

    /// Whether the calling thread is in a callback of this line.
    var isInCallback: Bool { monitor.withLock(wakes: false) { $0.isCaller(currentThreadID()) } }

    /// Whether the line is cancelled. A callback may cancel its own line; no other callback may follow then.
    var isCancelled: Bool { monitor.withLock(wakes: false) { $0.phase == .cancelled } }

    /// Changes the state, then discards the frames that the change removed from the queue, outside the lock.
    @discardableResult
    func change<R>(_ body: (inout State) -> R) -> R {
        let (result, removed) = monitor.withLock { (body(&$0), $0.takeRemoved()) }
        for frame in removed { Receiver.discard(frame) }
        return result
    }

    // MARK: On the delivery thread

    private func deliverAll(to receiver: Receiver) {
        let current = currentThreadID()
        while true {
            switch monitor.wait({ $0.next(on: current) }) {
            case .deliver(let frame): leave(receiver.deliver(frame))
            case .handle(let signal): leave(receiver.handle(signal))
            case .drop(let frame): receiver.drop(frame)
            case .exit, nil:
                // Detaches this thread, which nobody else joins if a callback on it ended the delivery.
                join()
                return
            }
        }
    }
}
