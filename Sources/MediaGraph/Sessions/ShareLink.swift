import GStreamer
import MediaGraphCore
import MediaGraphElements
import MediaGraphSession
import Synchronization

/// A session's `sharesource`, for as long as something is shared; with a player where its sound is heard here too:
///
/// ```
/// sharesource ─▶ session.share
///         └─▶ tee ─▶ session.shareaudio
///              └──▶ queue ─▶ a device
/// ```
final class ShareLink: Sendable {
    private struct Share: Sendable {
        let source: Element
        var player: Player?
    }

    private struct Player: Sendable {
        let tee: Element
        let device: Element
        /// As a description has it.
        let text: String
    }

    private let place: SessionPlace
    private let share = Mutex<Share?>(nil)

    init(_ place: SessionPlace) { self.place = place }

    var isOn: Bool { share.withLock { $0 != nil } }

    var node: ShareSourceNode {
        get throws(MediaGraphError) {
            guard let share = share.withLock({ $0 }) else {
                throw .noShare(.init("the session's share", expected: "one that has begun", actual: "none"))
            }
            return ShareSourceNode(graph: place.graph, element: share.source)
        }
    }

    func start(
        _ source: (any ShareSource)?, _ audioSource: (any ShareAudioSource)?, speaker: String?
    ) async throws(MediaGraphError) {
        var new = Share(source: try SessionPlace.make("sharesource", "share", []))
        let node = ShareSourceNode(graph: place.graph, element: new.source)
        if let source { try node.attach(source) }
        if let audioSource { try node.attach(audioSource: audioSource) }
        if let speaker {
            let text = "queue ! \(speaker)"
            new.player = Player(
                tee: try SessionPlace.make("tee", "share_heard", []), device: try SessionPlace.make(parsing: text),
                text: text)
        }
        let made = new
        let isFirst = share.withLock { share in
            guard share == nil else { return false }
            share = made
            return true
        }
        guard isFirst else {
            throw .alreadyInUse(.init("the session's share", expected: "one at a time", actual: "a second"))
        }
        let (hasPicture, hasSound) = (source != nil, audioSource != nil)
        try await place.graph.onControlQueue { [place] in
            place.graph.pipeline.add(made.source)
            if hasPicture { place.link(made.source.staticPad("src"), StreamKind.share.inputPad) }
            if hasSound { Self.linkSound(made, place) }
            made.source.syncState()
        }
    }

    private static func linkSound(_ share: Share, _ place: SessionPlace) {
        let sound = share.source.requestPad("audio")
        guard let player = share.player else { return place.link(sound, StreamKind.shareAudio.inputPad) }
        for element in [player.device, player.tee] { place.add(element) }
        place.link(player.tee.requestPad("src_%u"), StreamKind.shareAudio.inputPad)
        place.link(player.tee.requestPad("src_%u"), to: player.device)
        place.link(sound, to: player.tee)
    }

    func stop() async {
        guard let old = share.withLock({ $0.take() }) else { return }
        try? await place.graph.onControlQueue { [place] in Self.remove(old, place) }
    }

    /// The session has been left, or it has failed.
    func forget() {
        guard let old = share.withLock({ $0.take() }) else { return }
        place.enqueue { Self.remove(old, $0) }
    }

    /// Whether `element` is of it; then it is forgotten, as it has failed.
    func forget(whereItHas element: Element) -> Bool {
        guard let source = share.withLock({ $0?.source }) else { return false }
        guard element == source || element.parent == source else { return false }
        forget()
        return true
    }

    private static func remove(_ old: Share, _ place: SessionPlace) {
        place.remove(old.source)
        for kind in [StreamKind.share, .shareAudio] { place.unlink(kind.inputPad) }
        guard let player = old.player else { return }
        for element in [player.tee, player.device] { place.remove(element) }
    }

    /// As a description has it.
    var texts: [String] {
        guard let share = share.withLock({ $0 }) else { return [] }
        let hasSound = share.source.staticPad("audio") != nil
        let sound =
            share.player.map {
                ["share.audio ! tee name=share_heard ! session.shareaudio", "share_heard. ! \($0.text)"]
            } ?? ["share.audio ! session.shareaudio"]
        return ["sharesource name=share", "share. ! session.share"] + (hasSound ? sound : [])
    }
}
