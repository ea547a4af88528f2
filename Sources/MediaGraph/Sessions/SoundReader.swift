import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession
import Synchronization

/// A weak reference to a session.
struct WeakSession: Sendable {
    weak var session: Session?
    init(_ session: Session?) { self.session = session }
}

/// A session's `virtualspeaker`, linked to the audio of all users in the room. It exists if the context has a speaker,
/// and otherwise while the delegate is subscribed to the session's audio.
final class SoundReader: Sendable {
    private struct State: Sendable {
        /// The `virtualspeaker`; `nil` while there is none.
        var element: Element?
        var isSubscribed = false
        /// The thread that is calling the delegate now.
        var calling: UInt?
        /// The users whose audio is linked.
        var users: Set<String> = []
        /// The user whose shared audio is linked.
        var sharing: String?
    }

    private let sessionGraph: SessionGraph
    private let context: SessionContext
    private let state = BlockingMonitor(State())
    let session = Mutex(WeakSession(nil))

    init(_ sessionGraph: SessionGraph, _ context: SessionContext) {
        self.sessionGraph = sessionGraph
        self.context = context
    }

    /// Uses the context's speaker, which is part of the graph from the beginning.
    func attach(to element: Element) throws(MediaGraphError) {
        try connect(to: element)
        state.withLock { $0.element = element }
    }

    private func connect(to element: Element) throws(MediaGraphError) {
        let speaker = SessionSpeaker(context.virtualAudioSpeaker, self)
        try NodeVTable.attach(
            MGAudioConsumer(speaker, name: context.virtualAudioSpeaker.map { typeName(type(of: $0)) } ?? "session"),
            to: element)
    }

    /// Calls the delegate if it is subscribed to the session's audio. Only one thread at a time may call this.
    func call(_ body: (Session, any SessionDelegate) -> Void) {
        guard let session = session.withLock({ $0.session }), let delegate = session.delegate else { return }
        let isSubscribed = state.withLock(wakes: false) { state in
            if state.isSubscribed { state.calling = currentThreadID() }
            return state.isSubscribed
        }
        guard isSubscribed else { return }
        body(session, delegate)
        state.withLock { $0.calling = nil }
    }

    // MARK: The helper's calls

    /// Starts delivery to the delegate, and makes the `virtualspeaker` if there is none.
    func subscribe() throws(MediaGraphError) {
        try state.withLock { state throws(MediaGraphError) in
            if state.element == nil {
                let new = try SessionGraph.make("virtualspeaker", "speaker", context.speakerProperties)
                try connect(to: new)
                state.element = new
                sessionGraph.enqueue { sessionGraph in sessionGraph.add(new) }
                for user in state.users { link(.audio(user), new) }
                if let sharing = state.sharing { link(.share(sharing), new) }
            }
            state.isSubscribed = true
        }
    }

    /// Stops delivery to the delegate. Blocks until a running call has returned, unless the calling thread is inside
    /// that call.
    func unsubscribe() {
        state.withLock { state in
            state.isSubscribed = false
            guard !context.hasSpeaker, let element = state.element.take() else { return }
            for user in state.users { unlink(.audio(user), element) }
            if let sharing = state.sharing { unlink(.share(sharing), element) }
            sessionGraph.enqueue { sessionGraph in sessionGraph.remove(element) }
        }
        let thread = currentThreadID()
        _ = state.wait { $0.calling == nil || $0.calling == thread ? true : nil }
    }

    // MARK: Users

    /// Links the audio of a user who has joined.
    func joined(_ user: String) {
        state.withLock { state in
            if state.users.insert(user).inserted, let element = state.element { link(.audio(user), element) }
        }
    }

    /// Unlinks the audio of a user who has left.
    func left(_ user: String) {
        state.withLock { state in
            if state.users.remove(user) != nil, let element = state.element { unlink(.audio(user), element) }
        }
        shares(user, false)
    }

    /// Links or unlinks the shared audio of a user. Only one share is played at a time: the one that began first.
    func shares(_ user: String, _ isOn: Bool) {
        state.withLock { state in
            guard state.sharing == (isOn ? nil : user) else { return }
            state.sharing = isOn ? user : nil
            guard let element = state.element else { return }
            if isOn { link(.share(user), element) } else { unlink(.share(user), element) }
        }
    }

    /// Unlinks all users, because the room was left.
    func forgetUsers() { for user in state.withLock({ $0.users }) { left(user) } }

    // MARK: Links

    private enum Link: Sendable {
        case audio(String)
        case share(String)

        var sessionPad: String {
            switch self {
            case .audio(let user): StreamKind.microphone.outputPrefix + PadName.escape(user)
            case .share(let user): StreamKind.shareAudio.outputPrefix + PadName.escape(user)
            }
        }

        var speakerPad: String {
            switch self {
            case .audio(let user): "user_" + PadName.escape(user)
            case .share: "shared"
            }
        }
    }

    private func link(_ link: Link, _ element: Element) {
        sessionGraph.enqueue { $0.link(link.sessionPad, to: element, link.speakerPad) }
    }

    private func unlink(_ link: Link, _ element: Element) {
        sessionGraph.enqueue { sessionGraph in
            sessionGraph.unlink(link.sessionPad, from: element)
            if let pad = element.staticPad(link.speakerPad) { element.releasePad(pad) }
        }
    }

    /// The speaker and its links as a description.
    var texts: [String] {
        let (element, users, sharing) = state.withLock { ($0.element, $0.users, $0.sharing) }
        guard element != nil else { return [] }
        let links = users.map(Link.audio) + (sharing.map { [Link.share($0)] } ?? [])
        return (context.hasSpeaker ? [] : [context.speakerText])
            + links.map { "session.\($0.sessionPad) ! speaker.\($0.speakerPad)" }
    }
}

/// The handler of a session's speaker. Passes each block to the subscribed delegate, and then to the context's handler,
/// which may throw.
private final class SessionSpeaker: CompositeSpeaker {
    private var base: (any VirtualSpeaker & Sendable)?
    /// Whether the context's handler has failed and gets nothing more in this run.
    private var isDetached = false
    private weak var reader: SoundReader?

    init(_ base: (any VirtualSpeaker & Sendable)?, _ reader: SoundReader) {
        self.base = base
        self.reader = reader
    }

    /// Calls the context's handler, unless it is detached.
    private func callBase(_ body: (inout any VirtualSpeaker & Sendable) throws -> Void) rethrows {
        guard !isDetached, var handler = base.take() else { return }
        defer { base = handler }
        try body(&handler)
    }

    func detachFailed() -> Bool {
        isDetached = true
        return true
    }

    func reattach() { isDetached = false }

    func registered(_ registration: SpeakerRegistration) { callBase { $0.registered(registration) } }

    func mixedAudioReceived(_ frame: borrowing AudioFrame) throws {
        reader?.call { session, delegate in delegate.session(session, mixedAudioReceived: frame) }
        try callBase { try $0.mixedAudioReceived(frame) }
    }

    func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) throws {
        reader?.call { session, delegate in
            delegate.session(
                session, oneWayAudioReceived: frame, user: SessionUser(name: user.name, session: session))
        }
        try callBase { try $0.oneWayAudioReceived(frame, user: user) }
    }

    func sharedAudioReceived(_ frame: borrowing AudioFrame) throws {
        reader?.call { session, delegate in delegate.session(session, sharedAudioReceived: frame) }
        try callBase { try $0.sharedAudioReceived(frame) }
    }

    func statusChanged(isOn: Bool, of stream: SpeakerStream) { callBase { $0.statusChanged(isOn: isOn, of: stream) } }
    func finish() throws { try callBase { try $0.finish() } }
}
