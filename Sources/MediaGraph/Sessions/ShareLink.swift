import GStreamer
import MediaGraphCore
import MediaGraphElements
import MediaGraphSession
import Synchronization

/// A session's `sharesource` while something is shared, and the elements that play the share's audio locally, if
/// requested:
///
/// ```
/// sharesource ─▶ session.share
///         └─▶ tee ─▶ session.shareaudio
///              └──▶ queue ─▶ a device
/// ```
final class ShareLink: Sendable {
    private struct Share: Sendable {
        let source: Element
        let hasPicture: Bool
        var player: Player?
    }

    private struct Player: Sendable {
        let tee: Element
        let device: Element
        /// `device` as a description.
        let text: String
    }

    private let sessionGraph: SessionGraph
    private let share = Mutex<Share?>(nil)

    init(_ sessionGraph: SessionGraph) { self.sessionGraph = sessionGraph }

    var isOn: Bool { share.withLock { $0 != nil } }

    var node: ShareSourceNode {
        get throws(MediaGraphError) {
            guard let share = share.withLock({ $0 }) else {
                throw .noShare(.init("the session's share", actual: "hasn't started"))
            }
            return ShareSourceNode(graph: sessionGraph.graph, element: share.source)
        }
    }

    func start(
        _ source: (any ShareSource)?, _ audioSource: (any ShareAudioSource)?, speaker: String?
    ) async throws(MediaGraphError) {
        guard !isOn else { throw Self.alreadyStarted }
        var new = Share(source: try SessionGraph.make("sharesource", "share", []), hasPicture: source != nil)
        let node = ShareSourceNode(graph: sessionGraph.graph, element: new.source)
        if let source { try node.attach(source) }
        if let audioSource { try node.attach(audioSource: audioSource) }
        if let speaker {
            let text = "queue ! \(speaker)"
            new.player = Player(
                tee: try SessionGraph.make("tee", "share_heard", []), device: try SessionGraph.make(parsing: text),
                text: text)
        }
        let made = new
        let isFirst = share.withLock { share in
            guard share == nil else { return false }
            share = made
            return true
        }
        guard isFirst else { throw Self.alreadyStarted }
        let hasSound = audioSource != nil
        try await sessionGraph.graph.onControlQueue { [self] () throws(MediaGraphError) in
            // Since then, the share may have been stopped, or the session left: its removal came before this.
            guard isCurrent(made) else {
                throw .noShare(.init("the session's share", actual: "was stopped while it started"))
            }
            sessionGraph.graph.pipeline.add(made.source)
            if made.hasPicture { sessionGraph.link(made.source.staticPad("src"), StreamKind.share.inputPad) }
            if hasSound { Self.linkSound(made, sessionGraph) }
            made.source.syncState()
        }
    }

    private func isCurrent(_ made: Share) -> Bool { share.withLock { $0?.source == made.source } }

    private static var alreadyStarted: MediaGraphError {
        .alreadyInUse(.init("the session's share", actual: "has already started; stop it first"))
    }

    private static func linkSound(_ share: Share, _ sessionGraph: SessionGraph) {
        let sound = share.source.requestPad("audio")
        guard let player = share.player else { return sessionGraph.link(sound, StreamKind.shareAudio.inputPad) }
        for element in [player.device, player.tee] { sessionGraph.add(element) }
        sessionGraph.link(player.tee.requestPad("src_%u"), StreamKind.shareAudio.inputPad)
        sessionGraph.link(player.tee.requestPad("src_%u"), to: player.device)
        sessionGraph.link(sound, to: player.tee)
    }

    func stop() async {
        guard let old = share.withLock({ $0.take() }) else { return }
        try? await sessionGraph.graph.onControlQueue { [sessionGraph] in Self.remove(old, sessionGraph) }
    }

    /// Removes the share without waiting, because the session has been left or the share has failed.
    func forget() {
        guard let old = share.withLock({ $0.take() }) else { return }
        sessionGraph.enqueue { Self.remove(old, $0) }
    }

    /// Removes the share if `element`, which has failed, is part of it. Returns whether it is.
    func forget(ifItContains element: Element) -> Bool {
        guard let share = share.withLock({ $0 }) else { return false }
        let parts = [share.source] + (share.player.map { [$0.tee, $0.device] } ?? [])
        guard sequence(first: element, next: \.parent).contains(where: parts.contains) else { return false }
        forget()
        return true
    }

    /// Removes the elements of a share. Does nothing if they haven't been added yet.
    private static func remove(_ old: Share, _ sessionGraph: SessionGraph) {
        guard old.source.parent != nil else { return }
        sessionGraph.remove(old.source)
        for kind in [StreamKind.share, .shareAudio] { sessionGraph.unlink(kind.inputPad) }
        guard let player = old.player else { return }
        for element in [player.tee, player.device] { sessionGraph.remove(element) }
    }

    /// The share as a description.
    var texts: [String] {
        guard let share = share.withLock({ $0 }) else { return [] }
        let hasSound = share.source.staticPad("audio") != nil
        let sound =
            share.player.map {
                ["share.audio ! tee name=share_heard ! session.shareaudio", "share_heard. ! \($0.text)"]
            } ?? ["share.audio ! session.shareaudio"]
        return ["sharesource name=share"] + (share.hasPicture ? ["share. ! session.share"] : [])
            + (hasSound ? sound : [])
    }
}
