import GStreamer
import Synchronization

/// A session's share (Zoom's `ZoomVideoSDKShareHelper`): one at a time, and in the whole room one user's.
public struct SessionShareHelper: Sendable {
    let session: Session

    /// Shares what these sources send, until ``stopSharing()`` or the session is left (startSharingExternalSource). One of
    /// the two may be `nil`, as where only sound is shared. While another user of the room shares, nothing of it is seen:
    /// `GraphEvent.shareRefused` and a warning say so.
    ///
    /// Throws `notInSession` before joining, `wrongUsage` without a source, and `alreadyInUse` while something is shared.
    public func startSharing(
        _ source: (any ShareSource)?, audioSource: (any ShareAudioSource)? = nil
    ) async throws(MediaGraphError) {
        guard session.isJoined else { throw .notInSession(.init("a share", expected: "to begin after joining")) }
        guard source != nil || audioSource != nil else {
            throw .wrongUsage(.init("a share", expected: "a source, an audio source, or both", actual: "neither"))
        }
        try await session.share.start(source, audioSource)
    }

    /// Ends the share: when it returns, its sources have been stopped and nothing of theirs leaves any more.
    public func stopSharing() async { await session.share.stop() }

    /// Stops the sources for a while; others are told that the share is off (pauseShare). Throws `noShare` where nothing is
    /// shared.
    public func pause() async throws(MediaGraphError) { try await session.share.node.pause() }

    public func resume() async throws(MediaGraphError) { try await session.share.node.resume() }

    public var isSharing: Bool { session.share.isOn }
}

extension Session {
    public var shareHelper: SessionShareHelper { SessionShareHelper(session: self) }
}

/// A session's `sharesource`, for as long as something is shared.
final class ShareLink: Sendable {
    private let place: SessionPlace
    private let element = Mutex<Element?>(nil)

    init(_ place: SessionPlace) { self.place = place }

    var isOn: Bool { element.withLock { $0 != nil } }

    var node: ShareSourceNode {
        get throws(MediaGraphError) {
            guard let element = element.withLock({ $0 }) else {
                throw .noShare(.init("the session's share", expected: "one that has begun", actual: "none"))
            }
            return ShareSourceNode(graph: place.graph, element: element)
        }
    }

    func start(_ source: (any ShareSource)?, _ audioSource: (any ShareAudioSource)?) async throws(MediaGraphError) {
        guard let new = Element(factory: "sharesource", name: "share") else {
            throw .allocationFailed(.init("the session's share"))
        }
        let node = ShareSourceNode(graph: place.graph, element: new)
        if let source { try node.attach(source) }
        if let audioSource { try node.attach(audioSource: audioSource) }
        let isFirst = element.withLock { element in
            guard element == nil else { return false }
            element = new
            return true
        }
        guard isFirst else {
            throw .alreadyInUse(.init("the session's share", expected: "one at a time", actual: "a second"))
        }
        let (hasPicture, hasSound) = (source != nil, audioSource != nil)
        try await place.graph.onControlQueue { [place] in
            place.graph.pipeline.add(new)
            if hasPicture { place.link(new.staticPad("src"), StreamKind.share.inputPad) }
            if hasSound { place.link(new.requestPad("audio"), StreamKind.shareAudio.inputPad) }
            new.syncState()
        }
    }

    func stop() async {
        guard let old = element.withLock({ $0.take() }) else { return }
        try? await place.graph.onControlQueue { [place] in Self.remove(old, place) }
    }

    /// The session has been left.
    func forget() {
        guard let old = element.withLock({ $0.take() }) else { return }
        place.enqueue { Self.remove(old, $0) }
    }

    private static func remove(_ old: Element, _ place: SessionPlace) {
        place.remove(old)
        for kind in [StreamKind.share, .shareAudio] { place.unlink(kind.inputPad) }
    }

    /// As a description has it.
    var texts: [String] {
        guard let element = element.withLock({ $0 }) else { return [] }
        let sound = element.staticPad("audio") != nil
        return ["sharesource name=share", "share. ! session.share"]
            + (sound ? ["share.audio ! session.shareaudio"] : [])
    }
}
