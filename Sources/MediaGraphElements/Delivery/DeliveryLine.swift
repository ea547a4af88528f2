import GStreamer
import Synchronization

/// Who a delivery is for. `deliver` and `tell` come one at a time.
protocol DeliveryReceiver: AnyObject, Sendable {
    /// As it waits in the queue.
    associatedtype Frame: Sendable
    associatedtype Signal: DeliverySignal
    func deliver(_ frame: Frame) -> DeliveryOutcome
    func tell(_ signal: Signal) -> DeliveryOutcome
    /// The frame is lost, and counted.
    func lose(_ frame: Frame)
    /// The frame goes because of a flush or an end, which is no loss.
    static func discard(_ frame: Frame)
}

/// The way to one receiver: the lock and the thread around a `DeliveryState`. Streaming threads, one or several, bring frames;
/// the receiver gets them there where upstream may wait, and over a bounded queue on a thread of its own where it may not.
final class DeliveryLine<Receiver: DeliveryReceiver>: Sendable {
    typealias State = DeliveryState<Receiver.Frame, Receiver.Signal>

    private let monitor = BlockingMonitor(State())
    private let thread = Mutex<NativeThread?>(nil)

    // MARK: The run

    /// READY→PAUSED; `armed` runs under the lock, and not for a line that is cancelled.
    func arm(_ armed: () -> Void) { monitor.withLock { if $0.arm() { armed() } } }

    /// Frames may come. With a queue `receiver` gets them on a thread of that name.
    func open(_ queue: State.Queue?, _ name: String, _ receiver: Receiver) {
        let queues = queue != nil
        monitor.withLock { $0.open(queue) }
        if queues { thread.withLock { $0 = NativeThread(name) { [self] in deliverAll(to: receiver) } } }
    }

    /// `also` runs under the lock.
    func hold(_ reason: DeliveryHolds, also: () -> Void) {
        change {
            $0.hold(reason)
            also()
        }
    }

    /// `free` runs under the lock, when nothing holds any more.
    func release(_ reason: DeliveryHolds, free: () -> Void) { monitor.withLock { if $0.release(reason) { free() } } }

    /// FLUSH_STOP. False outside a run.
    func reopen() -> Bool { change { $0.reopen() } }

    /// PAUSED→READY, after data flow and a `hold(.stopping)`. `last` runs when nothing else delivers, if somebody is to
    /// hear of the end.
    func stop(_ last: () -> Void) {
        join()
        if monitor.wait({ $0.enterLast(on: currentThread()) }) == true {
            last()
            leave(.passed)
        }
    }

    func close() { change { $0.stop() } }

    /// Nothing more is ever delivered. When it returns no callback is in flight; from inside one it returns at once.
    /// `also` runs under the lock. `join` follows.
    func cancel(also: () -> Void) {
        change {
            $0.cancel()
            also()
        }
        let thread = currentThread()
        _ = monitor.wait { $0.isQuiet(for: thread) ? true : nil }
    }

    /// Waits for the delivery thread's end.
    func join() { thread.withLock { $0.take() }?.join() }

    // MARK: On the streaming threads

    /// After `.deliver` the caller delivers, and says `leave`. Waits while another streaming thread is in a callback.
    @inline(__always)
    func admit(_ frame: () -> Receiver.Frame) -> State.Admission {
        monitor.wait { $0.admit(on: currentThread(), frame) }!
    }

    /// The same for one who may have to go meanwhile.
    func admit(unless isGone: () -> Bool, _ frame: () -> Receiver.Frame) -> State.Admission {
        monitor.wait { isGone() ? .ignored : $0.admit(on: currentThread(), frame) }!
    }

    func admit(_ signal: Receiver.Signal, unless isGone: () -> Bool = { false }) -> State.Admission {
        monitor.wait { isGone() ? .ignored : $0.admit(signal, on: currentThread()) }!
    }

    @inline(__always)
    func leave(_ outcome: DeliveryOutcome) {
        monitor.withLock { $0.leave(outcome) }
        if outcome == .gone { change { _ in } }
    }

    /// Waits until end-of-stream has been told: on the bus it means that every frame was delivered.
    func waitForEnd() { _ = monitor.wait { $0.hasEnded ? true : nil } }

    /// Whether the caller is in a callback, on the thread that it came on.
    var isInCallback: Bool { monitor.withLock(wakes: false) { $0.isCaller(currentThread()) } }

    /// A callback may cancel, and then none follows.
    var isCancelled: Bool { monitor.withLock(wakes: false) { $0.phase == .cancelled } }

    /// A change that may empty the queue.
    @discardableResult
    func change<R>(_ body: (inout State) -> R) -> R {
        let (result, removed) = monitor.withLock { (body(&$0), $0.takeRemoved()) }
        for frame in removed { Receiver.discard(frame) }
        return result
    }

    // MARK: On the delivery thread

    private func deliverAll(to receiver: Receiver) {
        let current = currentThread()
        while true {
            switch monitor.wait({ $0.next(on: current) }) {
            case .deliver(let frame): leave(receiver.deliver(frame))
            case .tell(let signal): leave(receiver.tell(signal))
            case .lose(let frame): receiver.lose(frame)
            case .exit, nil:
                // Nobody joins a thread that unsubscribed its own receiver.
                join()
                return
            }
        }
    }
}
