import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A pipe's handler as the pipe holds it, whichever copy of the code it comes from.
///
/// `@unchecked Sendable`: the pipe calls it from one thread at a time, in stream order; the rest is constant.
final class ConsumerHandle: @unchecked Sendable {
    private let abi: MGVideoConsumer
    let name: String
    /// Empty: all.
    let formats: [VideoFormat]
    /// What it needs; `nil` when it takes either.
    let memoryMode: MemoryMode?

    /// Takes the handler over.
    init(_ abi: MGVideoConsumer) {
        self.abi = abi
        name = loadName(abi.name)
        formats = formatList(loadName(abi.formats))
        memoryMode = abi.requiredMemoryMode
    }

    deinit { abi.destroy(abi.context) }

    /// It has a queue of its own and needs no thread of the pipe's.
    var queues: Bool { abi.queues != 0 }

    func start(_ policy: OverflowPolicy, maxFrames: Int) {
        abi.start(abi.context, policy.rawValue, Int32(clamping: maxFrames))
    }

    /// Any thread.
    func interrupt() { abi.interrupt(abi.context) }

    /// Any thread.
    func resume() { abi.resume(abi.context) }

    /// What a delegate is told apart by; `nil` for a handler.
    var identity: UnsafeRawPointer? { abi.identity }

    /// False for a delegate that was held weakly and is no more. Any thread.
    var isAlive: Bool { abi.is_alive.map { $0(abi.context) != 0 } ?? true }

    enum Answer {
        case passed
        /// It queues by itself, and a frame was lost.
        case lost
        /// It is no more.
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
    /// What is to be told of a stream that has ended.
    var remark: String? {
        guard let text = abi.remark?(abi.context) else { return nil }
        defer { g_free(text) }
        return String(cString: text)
    }
}
