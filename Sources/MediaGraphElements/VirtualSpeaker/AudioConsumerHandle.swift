import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A speaker's handle to its handler, which may come from another copy of this code.
///
/// `@unchecked Sendable`: the speaker makes one call at a time, in each stream's order; the rest is constant.
final class AudioConsumerHandle: @unchecked Sendable {
    private let abi: MGAudioConsumer
    let name: String

    /// Takes ownership of the handler.
    init(_ abi: MGAudioConsumer) {
        self.abi = abi
        name = loadName(abi.name)
    }

    deinit { abi.destroy(abi.context) }

    /// Whether the handler owns its blocks, in a queue of its own. The speaker then needs no delivery thread.
    var queues: Bool { abi.queues != 0 }

    func registered(at node: ElementInstance) { abi.registered(abi.context, node.element) }

    func start(_ policy: OverflowPolicy, maxFrames: Int) {
        abi.start(abi.context, policy.rawValue, Int32(clamping: maxFrames))
    }

    /// Makes waiting calls of the handler return. May be called on any thread.
    func interrupt() { abi.interrupt(abi.context) }

    /// Ends `interrupt`. May be called on any thread.
    func resume() { abi.resume(abi.context) }

    /// Passes a block to the handler. Returns false if the handler has its own queue and lost a block.
    func receive(_ frame: UnsafePointer<MGAudioFrame>, of stream: UnsafePointer<MGAudioStream>)
        throws(MediaGraphError) -> Bool
    {
        var error = MGError()
        switch abi.frame(abi.context, stream, frame, &error) {
        case MG_PASS: return true
        case MG_DROP: return false
        default: throw MediaGraphError(taking: error)
        }
    }

    func statusChanged(isOn: Bool, of stream: UnsafePointer<MGAudioStream>) {
        abi.status(abi.context, stream, isOn ? 1 : 0)
    }

    /// Detaches the handler after a failure. Returns whether a part of it goes on.
    func detach() -> Bool { abi.detach(abi.context) != 0 }

    /// Tells the handler that all streams have ended.
    func finish() throws(MediaGraphError) {
        var error = MGError()
        guard abi.end(abi.context, &error) != MG_FAILED else { throw MediaGraphError(taking: error) }
    }
}
