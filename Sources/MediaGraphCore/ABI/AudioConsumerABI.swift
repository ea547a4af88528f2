import CMediaGraphABI
import GStreamer

extension MGAudioConsumer {
    /// Wraps a Swift handler. The structure's owner calls `destroy` once.
    package init<S: VirtualSpeaker>(_ speaker: consuming sending S, name: String) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        let interruption = (copy speaker as? any InterruptibleHandler)?.interruption
        context = Unmanaged<AnySpeakerBox>.passRetained(SpeakerBox(speaker, interruption)).toOpaque()
        registered = { context, node in
            AnySpeakerBox.of(context).registered(SpeakerRegistration(WeakElement(ElementInstance(node!))))
        }
        start = { context, _, _ in AnySpeakerBox.of(context).start() }
        interrupt = { AnySpeakerBox.of($0).interruption?.set(true) }
        resume = { AnySpeakerBox.of($0).interruption?.set(false) }
        frame = { context, stream, frame, error in
            Unmanaged<AnySpeakerBox>.fromOpaque(context!)._withUnsafeGuaranteedRef {
                $0.receive(stream!, frame!, error)
            }
        }
        status = { AnySpeakerBox.of($0).statusChanged($1!, isOn: $2 != 0) }
        end = { AnySpeakerBox.of($0).finish($1) }
        detach = { AnySpeakerBox.of($0).detach() ? 1 : 0 }
        destroy = { Unmanaged<AnySpeakerBox>.fromOpaque($0!).release() }
        storeName(name, in: &self.name)
    }
}

/// A speaker's handler that calls several others, of which one may fail.
package protocol CompositeSpeaker: AnyObject, VirtualSpeaker {
    /// Takes away the handler that has failed, until `reattach`. Returns whether others remain.
    func detachFailed() -> Bool
    /// Called at the start of each run.
    func reattach()
}

extension SpeakerStream {
    package init(_ abi: MGAudioStream) {
        switch abi.kind {
        case MG_ONE_WAY: self = .oneWay(SpeakerUser(abi))
        case MG_SHARED: self = .shared
        default: self = .mixed
        }
    }
}

extension SpeakerUser {
    fileprivate init(_ abi: MGAudioStream) {
        self.init(name: abi.user.map { String(cString: $0) } ?? "", room: abi.room.map { String(cString: $0) })
    }
}

/// The context behind the C function pointers. Each call costs one virtual call to the handler's own type.
private class AnySpeakerBox {
    let interruption: Interruption?

    init(_ interruption: Interruption?) { self.interruption = interruption }

    func registered(_ registration: SpeakerRegistration) {}
    func start() {}
    func detach() -> Bool { false }
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
    /// Users by stream number, so that a user's name is read once rather than for each block.
    private var users: [UInt64: SpeakerUser] = [:]

    init(_ speaker: consuming S, _ interruption: Interruption?) {
        self.speaker = speaker
        super.init(interruption)
    }

    override func registered(_ registration: SpeakerRegistration) { speaker.registered(registration) }

    override func start() { (speaker as? any CompositeSpeaker)?.reattach() }

    override func detach() -> Bool { (speaker as? any CompositeSpeaker)?.detachFailed() ?? false }

    override func receive(
        _ stream: UnsafePointer<MGAudioStream>, _ source: UnsafePointer<MGAudioFrame>,
        _ error: UnsafeMutablePointer<MGError>?
    ) -> Int32 {
        MediaGraphError.status(error, "the handler") {
            guard let frame = AudioFrame(source) else { throw MediaGraphError.unknownSampleFormat }
            switch stream.pointee.kind {
            case MG_ONE_WAY: try speaker.oneWayAudioReceived(frame, user: user(of: stream))
            case MG_SHARED: try speaker.sharedAudioReceived(frame)
            default: try speaker.mixedAudioReceived(frame)
            }
        }
    }

    private func user(of stream: UnsafePointer<MGAudioStream>) -> SpeakerUser {
        if let user = users[stream.pointee.number] { return user }
        let user = SpeakerUser(stream.pointee)
        users[stream.pointee.number] = user
        return user
    }

    override func statusChanged(_ stream: UnsafePointer<MGAudioStream>, isOn: Bool) {
        speaker.statusChanged(isOn: isOn, of: SpeakerStream(stream.pointee))
        if !isOn { users[stream.pointee.number] = nil }
    }

    override func finish(_ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        MediaGraphError.status(error, "the handler") { try speaker.finish() }
    }
}
