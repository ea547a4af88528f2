import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A pipe's handler or delegate, called through the C interface, since it may come from another copy of MediaGraph's
/// code.
///
/// `@unchecked Sendable`: the pipe calls it from one thread at a time, in stream order. Everything else is constant.
final class ConsumerHandle: @unchecked Sendable {
    private let abi: MGVideoConsumer
    let name: String
    /// The formats that the handler supports; empty if it supports all.
    let formats: [VideoFormat]

    /// Takes ownership of the handler.
    init(_ abi: MGVideoConsumer) {
        self.abi = abi
        name = loadName(abi.name)
        formats = formatList(loadName(abi.formats))
    }

    deinit { abi.destroy(abi.context) }

    /// Whether the handler owns its frames, in a queue of its own. It then needs no delivery thread.
    var queues: Bool { abi.queues != 0 }

    func start(_ policy: OverflowPolicy, maxFrames: Int) {
        abi.start(abi.context, policy.rawValue, Int32(clamping: maxFrames))
    }

    /// Makes a call that waits in the handler return, and keeps calls from waiting until `resume`. May be called from
    /// any thread.
    func interrupt() { abi.interrupt(abi.context) }

    /// Lets calls wait in the handler again. May be called from any thread.
    func resume() { abi.resume(abi.context) }

    /// Identifies a delegate; `nil` for a handler.
    var identity: UnsafeRawPointer? { abi.identity }

    /// Whether the receiver still exists. False for a weakly held delegate that was deallocated. May be called from any
    /// thread.
    var isAlive: Bool { abi.is_alive.map { $0(abi.context) != 0 } ?? true }

    enum Answer {
        case passed
        /// The handler has its own queue and dropped a frame.
        case lost
        /// The delegate no longer exists.
        case gone
    }

    @inline(__always)
    func receive(_ frame: UnsafePointer<MGVideoFrame>) throws(MediaGraphError) -> Answer {
        var error = MGError()
        switch abi.frame(abi.context, frame, &error) {
        case MG_PASS: return .passed
        case MG_DROP: return .lost
        case MG_GONE: return .gone
        default: throw MediaGraphError(taking: error)
        }
    }

    func statusChanged(isOn: Bool) { abi.status(abi.context, isOn ? 1 : 0) }

    func finish() throws(MediaGraphError) {
        var error = MGError()
        guard abi.end(abi.context, &error) != MG_FAILED else { throw MediaGraphError(taking: error) }
    }
}

extension ConsumerHandle {
    /// The handler's remark about a stream that has ended, which is posted as a warning; `nil` if it has none.
    var remark: String? {
        guard let text = abi.remark?(abi.context) else { return nil }
        defer { g_free(text) }
        return String(cString: text)
    }
}
