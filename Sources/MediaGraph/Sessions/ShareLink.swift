import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphDevices
import MediaGraphElements
import MediaGraphSession
import Synchronization

/// What a session shares, and the elements that play the share's audio locally, if requested. The source is a
/// `sharesource` for handlers, or elements made from descriptions:
///
/// ```
/// source ─▶ session.share
/// source ─▶ tee ─▶ session.shareaudio
///            └──▶ queue ─▶ a device
/// ```
final class ShareLink: Sendable {
    private struct Share: Sendable {
        /// The elements that send, without the player.
        let sources: [Element]
        let picture: Output?
        let sound: Output?
        var player: Player?
        /// Whether `sources` is a `sharesource`.
        var hasHandlers = false
        var phase = Phase.starting
    }

    private enum Phase: Sendable {
        /// Nothing has been sent yet, so the room hasn't decided.
        case starting
        /// The share isn't sent while another user shares.
        case waiting
        /// The share has been sent. It may be paused.
        case begun
    }

    /// A stream of the share.
    private struct Output: Sendable {
        let pad: Pad
        /// The stream's beginning as a description.
        let text: String
    }

    private struct Player: Sendable {
        let tee: Element
        let device: Element
        /// `device` as a description.
        let text: String
    }

    private struct State: Sendable {
        var share: Share?
        /// The failure that ended the last share.
        var failure: ElementFailure?
    }

    /// The time for making elements from a description, which may connect to a server that hangs.
    private static let timeLimit = Duration.seconds(10)

    private let sessionGraph: SessionGraph
    private let state = Mutex(State())

    init(_ sessionGraph: SessionGraph) { self.sessionGraph = sessionGraph }

    private var isOn: Bool { share != nil }

    private var share: Share? { state.withLock { $0.share } }

    /// Whether the user shares. Until the first frame is sent, that depends on whether another user does.
    func isSharing(whileOthersShare hasOtherShare: Bool) -> Bool {
        switch share?.phase {
        case .begun: true
        case .starting: !hasOtherShare
        case .waiting, nil: false
        }
    }

    /// Records that the room doesn't let the share begin. Returns false if that is known already.
    func recordWait() -> Bool {
        state.withLock { state in
            guard let phase = state.share?.phase, phase != .waiting else { return false }
            state.share?.phase = .waiting
            return true
        }
    }

    /// Records that the share is sent.
    func recordBeginning() { state.withLock { $0.share?.phase = .begun } }

    var node: ShareSourceNode {
        get throws(MediaGraphError) {
            guard let share else { throw .noShare(.init("the session's share", actual: "hasn't started")) }
            guard share.hasHandlers else {
                throw .unsupported(
                    .init(
                        "the session's share",
                        actual: "can't be paused, because it is a description's; stop it, and start it again later"))
            }
            return ShareSourceNode(graph: sessionGraph.graph, element: share.sources[0])
        }
    }

    // MARK: Starting

    /// Shares what handlers send.
    func start(
        _ source: (any ShareSource)?, _ audioSource: (any ShareAudioSource)?, speaker: String?
    ) async throws(MediaGraphError) {
        guard !isOn else { throw Self.alreadyStarted }
        let element = try SessionGraph.make("sharesource", "share", [])
        let node = ShareSourceNode(graph: sessionGraph.graph, element: element)
        if let source { try node.attach(source) }
        if let audioSource { try node.attach(audioSource: audioSource) }
        try await start(
            Share(
                sources: [element],
                picture: source == nil ? nil : element.staticPad("src").map { Output(pad: $0, text: "share.") },
                sound: audioSource == nil
                    ? nil : element.requestPad("audio").map { Output(pad: $0, text: "share.audio") },
                hasHandlers: true), speaker)
    }

    /// Shares what the elements of descriptions send.
    func start(_ picture: String?, sound: String?, speaker: String?) async throws(MediaGraphError) {
        guard !isOn else { throw Self.alreadyStarted }
        let made = try await runBlocking { () throws(MediaGraphError) in
            (try picture.map(Self.make), try sound.map(Self.make))
        }
        try await start(
            Share(
                sources: [made.0?.source, made.1?.source].compactMap(\.self), picture: made.0?.output,
                sound: made.1?.output), speaker)
    }

    /// Makes elements that end with one stream.
    private static func make(_ text: String) throws(MediaGraphError) -> (source: Element, output: Output) {
        let factories = Description(text).resolved().factories
        let call = DeviceCall {
            Result { () throws(MediaGraphError) in
                try ScreenTurn.make(factories, within: ScreenTurn.graphTimeLimit) { () throws(MediaGraphError) in
                    // The last part of `text` may be caps, which can't end a bin's description.
                    try SessionGraph.make(parsing: "\(text) ! identity silent=true")
                }
            }
        }
        guard let answer = call.answer(within: timeLimit) else {
            throw .timeOut(
                .init(
                    "\"\(text)\"",
                    actual: "couldn't be created within \(timeLimit.components.seconds) s, because an element waits "
                        + "for a server or driver; run `mediagraph doctor` to find it"))
        }
        let source = try answer.get()
        guard let pad = source.staticPad("src"), source.pads.count == 1 else {
            throw .invalidParameter(
                .init("\"\(text)\"", actual: "must begin with a source, and end with one stream"))
        }
        return (source, Output(pad: pad, text: text))
    }

    private func start(_ new: Share, _ speaker: String?) async throws(MediaGraphError) {
        var new = new
        if let speaker {
            let text = "queue ! \(speaker)"
            new.player = Player(
                tee: try SessionGraph.make("tee", "share_heard", []), device: try SessionGraph.make(parsing: text),
                text: text)
        }
        let made = new
        let isFirst = state.withLock { state in
            guard state.share == nil else { return false }
            state = State(share: made)
            return true
        }
        guard isFirst else { throw Self.alreadyStarted }
        do throws(MediaGraphError) {
            try await sessionGraph.graph.onControlQueue { [self] () throws(MediaGraphError) in try connect(made) }
        } catch {
            let isMine = state.withLock { state in
                guard state.share?.sources == made.sources else { return false }
                state.share = nil
                return true
            }
            if isMine { sessionGraph.enqueue { Self.remove(made, $0) } }
            throw error
        }
    }

    /// Adds a share to the graph and starts it. Called on the control queue.
    private func connect(_ made: Share) throws(MediaGraphError) {
        // Since then, the share may have been stopped, or the session left: its removal came before this.
        guard isCurrent(made) else {
            throw .noShare(.init("the session's share", actual: "was stopped while it started"))
        }
        for source in made.sources { sessionGraph.graph.pipeline.add(source) }
        if let picture = made.picture { sessionGraph.link(picture.pad, StreamKind.share.inputPad) }
        if let sound = made.sound { Self.linkSound(sound.pad, made.player, sessionGraph) }
        for source in made.sources {
            guard source.setState(.ready) != .failure else { throw failure }
            try sessionGraph.graph.screens.add(source)
            guard source.syncState() else { throw failure }
            try sessionGraph.graph.screens.confirm(source)
        }
    }

    /// The error for a share whose source couldn't start.
    private var failure: MediaGraphError {
        guard let failure = state.withLock({ $0.failure }) else {
            return .processingFailed(.init("the session's share", actual: "couldn't be started"))
        }
        return MediaGraphError(.failed(failure), "the session's share")
    }

    private func isCurrent(_ made: Share) -> Bool { share?.sources == made.sources }

    private static var alreadyStarted: MediaGraphError {
        .alreadyInUse(.init("the session's share", actual: "has already started; stop it first"))
    }

    private static func linkSound(_ sound: Pad, _ player: Player?, _ sessionGraph: SessionGraph) {
        guard let player else { return sessionGraph.link(sound, StreamKind.shareAudio.inputPad) }
        for element in [player.device, player.tee] { sessionGraph.add(element) }
        sessionGraph.link(player.tee.requestPad("src_%u"), StreamKind.shareAudio.inputPad)
        sessionGraph.link(player.tee.requestPad("src_%u"), to: player.device)
        sessionGraph.link(sound, to: player.tee)
    }

    // MARK: The end

    func stop() async {
        guard let old = take() else { return }
        try? await sessionGraph.graph.onControlQueue { [sessionGraph] in Self.remove(old, sessionGraph) }
    }

    private func take() -> Share? { state.withLock { $0.share.take() } }

    /// Removes the share without waiting, because the session has been left or the share has failed.
    func forget() {
        guard let old = take() else { return }
        sessionGraph.enqueue { Self.remove(old, $0) }
    }

    /// Removes the share if `element`, which has failed, is part of it. Returns whether it is.
    func forget(ifItContains element: Element, _ failure: ElementFailure) -> Bool {
        guard let share else { return false }
        let parts = share.sources + (share.player.map { [$0.tee, $0.device] } ?? [])
        guard sequence(first: element, next: \.parent).contains(where: parts.contains) else { return false }
        state.withLock { $0.failure = failure }
        forget()
        return true
    }

    /// Removes the elements of a share. Does nothing if they haven't been added yet, or have been removed.
    private static func remove(_ old: Share, _ sessionGraph: SessionGraph) {
        guard old.sources.contains(where: { $0.parent != nil }) else { return }
        for source in old.sources {
            sessionGraph.remove(source)
            sessionGraph.graph.screens.remove(source)
        }
        for kind in [StreamKind.share, .shareAudio] { sessionGraph.releasePad(kind.inputPad) }
        guard let player = old.player else { return }
        for element in [player.tee, player.device] { sessionGraph.remove(element) }
    }

    /// The share as a description.
    var texts: [String] {
        guard let share else { return [] }
        var texts = share.hasHandlers ? ["sharesource name=share"] : []
        if let picture = share.picture { texts.append("\(picture.text) ! session.share") }
        guard let sound = share.sound else { return texts }
        guard let player = share.player else { return texts + ["\(sound.text) ! session.shareaudio"] }
        return texts + [
            "\(sound.text) ! tee name=share_heard ! session.shareaudio", "share_heard. ! \(player.text)",
        ]
    }
}
