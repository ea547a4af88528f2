import CMediaGraphABI
import GStreamer

/// A speaker's handler as the speaker holds it, whichever copy of the code it comes from.
///
/// `@unchecked Sendable`: the speaker calls it one at a time, in each stream's order; the rest is constant.
final class AudioConsumerHandle: HandlerHandle, @unchecked Sendable {
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

extension MGAudioConsumer {
    /// Wraps a Swift handler. Whoever holds the structure calls `destroy` once.
    init<S: VirtualSpeaker>(_ speaker: consuming sending S, name: String, memoryMode: MemoryMode? = nil) {
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

    /// A channel as a speaker's handler: it queues by itself, so blocks go from the streaming threads straight to the task.
    init(_ channel: FrameChannel<SpeakerAudio>) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passRetained(channel).toOpaque()
        queues = 1
        memory_mode = MemoryMode.heap.rawValue + 1
        registered = { _, _ in }
        start = { FrameChannel<SpeakerAudio>.of($0).start(OverflowPolicy(rawValue: $1) ?? .block, maxFrames: Int($2)) }
        interrupt = { FrameChannel<SpeakerAudio>.of($0).interrupt() }
        resume = { FrameChannel<SpeakerAudio>.of($0).resume() }
        frame = { context, stream, frame, _ in
            let audio = SpeakerAudio(
                stream: SpeakerStream(stream!.pointee), frame: OwnedAudioFrame(retainingOrCopying: frame!.pointee))
            return FrameChannel<SpeakerAudio>.of(context).receive(audio) ? MG_PASS : MG_DROP
        }
        status = { _, _, _ in }
        end = { context, _ in
            FrameChannel<SpeakerAudio>.of(context).end(nil)
            return MG_PASS
        }
        destroy = { Unmanaged<FrameChannel<SpeakerAudio>>.fromOpaque($0!).release() }
        storeName("audio", in: &name)
    }
}

extension SpeakerStream {
    init(_ abi: MGAudioStream) {
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
