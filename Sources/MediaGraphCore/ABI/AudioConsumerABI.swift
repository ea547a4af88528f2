import CMediaGraphABI
import GStreamer

/// A speaker's handler as the speaker holds it, whichever copy of the code it comes from.
///
/// `@unchecked Sendable`: the speaker calls it one at a time, in each stream's order; the rest is constant.
@usableFromInline package final class AudioConsumerHandle: @unchecked Sendable {
    @usableFromInline let abi: MGAudioConsumer
    package let name: String
    /// What it needs; `nil` when it takes either.
    package let memoryMode: MemoryMode?

    /// Takes the handler over.
    package init(_ abi: MGAudioConsumer) {
        self.abi = abi
        name = loadName(abi.name)
        memoryMode = abi.memory_mode == 0 ? nil : MemoryMode(rawValue: abi.memory_mode - 1)
    }

    deinit { abi.destroy(abi.context) }

    /// It has a queue of its own and needs no thread of the speaker's.
    package var queues: Bool { abi.queues != 0 }

    package func registered(at node: ElementInstance) { abi.registered(abi.context, node.element) }

    package func start(_ policy: OverflowPolicy, maxFrames: Int) {
        abi.start(abi.context, policy.rawValue, Int32(clamping: maxFrames))
    }

    /// Any thread.
    package func interrupt() { abi.interrupt(abi.context) }

    /// Any thread.
    package func resume() { abi.resume(abi.context) }

    /// False when it queues by itself and a block was lost.
    package func receive(_ frame: UnsafePointer<MGAudioFrame>, of stream: UnsafePointer<MGAudioStream>)
        throws(MediaGraphError) -> Bool
    {
        var error = MGError()
        switch abi.frame(abi.context, stream, frame, &error) {
        case MG_PASS: return true
        case MG_DROP: return false
        default: throw MediaGraphError(taking: error)
        }
    }

    package func statusChanged(isOn: Bool, of stream: UnsafePointer<MGAudioStream>) {
        abi.status(abi.context, stream, isOn ? 1 : 0)
    }

    package func finish() throws(MediaGraphError) {
        var error = MGError()
        guard abi.end(abi.context, &error) != MG_FAILED else { throw MediaGraphError(taking: error) }
    }
}

extension MGAudioConsumer {
    /// Wraps a Swift handler. Whoever holds the structure calls `destroy` once.
    package init<S: VirtualSpeaker>(_ speaker: consuming sending S, name: String, memoryMode: MemoryMode? = nil) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged<AnySpeakerBox>.passRetained(SpeakerBox(speaker)).toOpaque()
        registered = { context, node in
            AnySpeakerBox.of(context).registered(SpeakerRegistration(WeakElement(ElementInstance(node!))))
        }
        start = { _, _, _ in }
        interrupt = { _ in }
        resume = { _ in }
        frame = { context, stream, frame, error in
            Unmanaged<AnySpeakerBox>.fromOpaque(context!)._withUnsafeGuaranteedRef {
                $0.receive(stream!, frame!, error)
            }
        }
        status = { AnySpeakerBox.of($0).statusChanged($1!, isOn: $2 != 0) }
        end = { AnySpeakerBox.of($0).finish($1) }
        destroy = { Unmanaged<AnySpeakerBox>.fromOpaque($0!).release() }
        storeName(name, in: &self.name)
        memory_mode = memoryMode.map { $0.rawValue + 1 } ?? 0
    }
}

extension SpeakerStream {
    package init(_ abi: MGAudioStream) {
        switch abi.kind {
        case MG_ONE_WAY:
            self = .oneWay(
                SpeakerUser(
                    name: abi.user.map { String(cString: $0) } ?? "", room: abi.room.map { String(cString: $0) }))
        case MG_SHARED: self = .shared
        default: self = .mixed
        }
    }
}

/// What the C function pointers lead back to: one virtual call to the handler's own type.
private class AnySpeakerBox {
    func registered(_ registration: SpeakerRegistration) {}
    func receive(
        _ stream: UnsafePointer<MGAudioStream>, _ frame: UnsafePointer<MGAudioFrame>,
        _ error: UnsafeMutablePointer<MGError>?
    ) -> Int32 { MG_FAILED }
    func statusChanged(_ stream: UnsafePointer<MGAudioStream>, isOn: Bool) {}
    func finish(_ error: UnsafeMutablePointer<MGError>?) -> Int32 { MG_FAILED }

    static func of(_ context: UnsafeMutableRawPointer?) -> AnySpeakerBox {
        Unmanaged<AnySpeakerBox>.fromOpaque(context!).takeUnretainedValue()
    }
}

private final class SpeakerBox<S: VirtualSpeaker>: AnySpeakerBox {
    private var speaker: S
    /// By the stream's number: a user's name is read once, not for each block.
    private var users: [UInt64: SpeakerUser] = [:]

    init(_ speaker: consuming S) { self.speaker = speaker }

    override func registered(_ registration: SpeakerRegistration) { speaker.registered(registration) }

    override func receive(
        _ stream: UnsafePointer<MGAudioStream>, _ source: UnsafePointer<MGAudioFrame>,
        _ error: UnsafeMutablePointer<MGError>?
    ) -> Int32 {
        do {
            guard let frame = AudioFrame(source) else { throw MediaGraphError.unknownSampleFormat }
            switch stream.pointee.kind {
            case MG_ONE_WAY: try speaker.oneWayAudioReceived(frame, user: user(of: stream))
            case MG_SHARED: try speaker.sharedAudioReceived(frame)
            default: try speaker.mixedAudioReceived(frame)
            }
            return MG_PASS
        } catch let thrown {
            MediaGraphError.wrapping(thrown, "the handler").store(in: error)
            return MG_FAILED
        }
    }

    private func user(of stream: UnsafePointer<MGAudioStream>) -> SpeakerUser {
        if let user = users[stream.pointee.number] { return user }
        guard case .oneWay(let user) = SpeakerStream(stream.pointee) else { preconditionFailure("a one-way stream") }
        users[stream.pointee.number] = user
        return user
    }

    override func statusChanged(_ stream: UnsafePointer<MGAudioStream>, isOn: Bool) {
        speaker.statusChanged(isOn: isOn, of: SpeakerStream(stream.pointee))
        if !isOn { users[stream.pointee.number] = nil }
    }

    override func finish(_ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        do {
            try speaker.finish()
            return MG_PASS
        } catch let thrown {
            MediaGraphError.wrapping(thrown, "the handler").store(in: error)
            return MG_FAILED
        }
    }
}
