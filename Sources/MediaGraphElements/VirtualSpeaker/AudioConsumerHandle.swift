import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A speaker's handler as the speaker holds it, whichever copy of the code it comes from.
///
/// `@unchecked Sendable`: the speaker calls it one at a time, in each stream's order; the rest is constant.
final class AudioConsumerHandle: @unchecked Sendable {
    private let abi: MGAudioConsumer
    let name: String
    /// What it needs; `nil` when it takes either.
    let memoryMode: MemoryMode?

    /// Takes the handler over.
    init(_ abi: MGAudioConsumer) {
        self.abi = abi
        name = loadName(abi.name)
        memoryMode = abi.memory_mode == 0 ? nil : MemoryMode(rawValue: abi.memory_mode - 1)
    }

    deinit { abi.destroy(abi.context) }

    /// It has a queue of its own and needs no thread of the speaker's.
    var queues: Bool { abi.queues != 0 }

    func registered(at node: ElementInstance) { abi.registered(abi.context, node.element) }

    func start(_ policy: OverflowPolicy, maxFrames: Int) {
        abi.start(abi.context, policy.rawValue, Int32(clamping: maxFrames))
    }

    /// Any thread.
    func interrupt() { abi.interrupt(abi.context) }

    /// Any thread.
    func resume() { abi.resume(abi.context) }

    /// False when it queues by itself and a block was lost.
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

    func finish() throws(MediaGraphError) {
        var error = MGError()
        guard abi.end(abi.context, &error) != MG_FAILED else { throw MediaGraphError(taking: error) }
    }
}
