import CGStreamer
import GStreamer
import Synchronization

/// The replies that `webrtcbin` owes (`GstPromise`).
///
/// `webrtcbin` never replies to some promises once it is closed. So each is kept until its reply comes, and those that
/// remain are expired in the end; GStreamer warns of a promise that is freed before.
final class Replies: Sendable {
    enum Reply {
        /// The structure, while the handler runs.
        case replied(UnsafePointer<GstStructure>)
        case refused(String)
        /// `webrtcbin` was closed first.
        case expired
    }

    typealias Handler = @Sendable (Reply) -> Void

    /// Passed to the promise's function, which releases it.
    private final class Pending: Sendable {
        let handler: Handler
        let replies: Replies
        let number: UInt64

        init(_ handler: @escaping Handler, _ replies: Replies, _ number: UInt64) {
            (self.handler, self.replies, self.number) = (handler, replies, number)
        }
    }

    /// A reference to a promise, which the holder releases once.
    private struct Promise: @unchecked Sendable {
        // `@unchecked Sendable`: a promise has its own lock.
        let raw: UnsafeMutablePointer<GstPromise>
    }

    private struct State: Sendable {
        var promises: [UInt64: Promise] = [:]
        var count: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Calls `ask` with a promise, and `handler` once, on one of the threads of `webrtcbin`, with the reply.
    func request(_ ask: (UnsafeRawPointer) -> Void, _ handler: @escaping Handler) {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let context = Unmanaged.passRetained(Pending(handler, self, number)).toOpaque()
        let promise = gst_promise_new_with_change_func(
            { promise, context in
                let pending = Unmanaged<Pending>.fromOpaque(context!).takeRetainedValue()
                pending.handler(Reply(of: promise!))
                pending.replies.forget(pending.number)
            }, context, nil)!
        // The reply may come within `ask`.
        state.withLock { $0.promises[number] = Promise(raw: gst_promise_ref(promise)) }
        ask(promise)
        gst_promise_unref(promise)
    }

    /// Expires the pending promises, which calls their handlers.
    func expire() {
        let promises = state.withLock { $0.promises.values.map { Promise(raw: gst_promise_ref($0.raw)) } }
        for promise in promises {
            gst_promise_expire(promise.raw)
            gst_promise_unref(promise.raw)
        }
    }

    private func forget(_ number: UInt64) {
        if let promise = state.withLock({ $0.promises.removeValue(forKey: number) }) { gst_promise_unref(promise.raw) }
    }
}

extension Replies.Reply {
    /// The reply of a promise that isn't pending any more.
    fileprivate init(of promise: UnsafeMutablePointer<GstPromise>) {
        guard gst_promise_wait(promise) == GST_PROMISE_RESULT_REPLIED else {
            self = .expired
            return
        }
        // A request without a result is answered with NULL.
        guard let structure = gst_promise_get_reply(promise) else {
            self = .replied(Replies.nothing.raw)
            return
        }
        guard let error = gst_structure_get_value(structure, "error"),
            let raw = g_value_get_boxed(error)?.assumingMemoryBound(to: GError.self)
        else {
            self = .replied(structure)
            return
        }
        self = .refused(String(cString: raw.pointee.message))
    }
}

extension Replies {
    fileprivate static let nothing = Structure("nothing")
}
