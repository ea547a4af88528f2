import GStreamer
import MediaGraphDescription
import MediaGraphSession
import Synchronization

/// The observers of the other users' video, one for each user, upstream of the pipes that read the video:
///
/// ```
/// session.video_bob ─▶ frameobserver ─▶ tee ─▶ rawdatapipe, while somebody subscribes
/// ```
/// Elements are added and removed on the graph's control queue. An observer is removed when its user has left and
/// nobody subscribes to that user's video any more.
final class RemoteObservers: Sendable {
    private struct Chain: Sendable {
        let observer: Element
        let tee: Element
        var isPresent = true

        var outlets: [Pad] { tee.pads.filter { $0.direction == .source } }
    }

    private let observation: SessionObservation
    /// The elements for each observed pad of the session, by the pad's name.
    private let chains = Mutex<[String: Chain]>([:])
    let session = Mutex(WeakSession(nil))

    /// `nil` if the context has no observer of remote video.
    init?(_ context: SessionContext) {
        guard let observation = SessionObservation(context), observation.positions.contains(.preRenderer) else {
            return nil
        }
        self.observation = observation
    }

    // MARK: Users, on the graph's control queue

    /// Adds an observer for a user who has joined.
    func joined(_ user: String, _ sessionGraph: SessionGraph) {
        let pad = StreamKind.camera.outputPrefix + PadName.escape(user)
        let isKnown = chains.withLock { chains in
            chains[pad]?.isPresent = true
            return chains[pad] != nil
        }
        guard !isKnown else { return }
        do {
            let observer = try observation.make("observer_\(pad)", user: user, session.withLock { $0 })
            let tee = try SessionGraph.make("tee", "observed_\(pad)", [("allow-not-linked", "true")])
            sessionGraph.add(tee)
            sessionGraph.add(observer)
            guard observer.link(to: tee) else { return sessionGraph.warn(pad) }
            sessionGraph.linkDirectly(pad, to: observer, "sink")
            chains.withLock { $0[pad] = Chain(observer: observer, tee: tee) }
        } catch { sessionGraph.warn("\(pad)'s observer: \(error)") }
    }

    /// Removes the observer of a user who has left, unless somebody still subscribes to the user's video.
    func left(_ user: String, _ sessionGraph: SessionGraph) {
        let pad = StreamKind.camera.outputPrefix + PadName.escape(user)
        chains.withLock { $0[pad]?.isPresent = false }
        removeUnused(pad, sessionGraph)
    }

    private func removeUnused(_ pad: String, _ sessionGraph: SessionGraph) {
        guard let chain = chains.withLock({ $0[pad] }), !chain.isPresent, chain.outlets.isEmpty else { return }
        chains.withLock { $0[pad] = nil }
        sessionGraph.releasePad(pad)
        sessionGraph.remove(chain.observer)
        sessionGraph.remove(chain.tee)
    }

    // MARK: Readers, on the graph's control queue

    /// A pad downstream of the observer of the session's pad; `nil` if that pad isn't observed.
    func outlet(_ pad: String) -> Pad? { chains.withLock { $0[pad] }?.tee.requestTeeOutlet() }

    /// Releases the outlets of the session's pad. Returns false if the pad isn't observed.
    func release(_ pad: String, _ sessionGraph: SessionGraph) -> Bool {
        guard let chain = chains.withLock({ $0[pad] }) else { return false }
        for outlet in chain.outlets { chain.tee.releasePad(outlet) }
        removeUnused(pad, sessionGraph)
        return true
    }

    // MARK: As a description

    var texts: [String] {
        chains.withLock { $0.keys.sorted() }.compactMap { pad in
            observation.text(.preRenderer, name: "observer_\(pad)").map {
                "session.\(pad) ! \($0) ! tee name=observed_\(pad) allow-not-linked=true"
            }
        }
    }

    /// The pad to link from instead of the session's pad; `nil` if that pad isn't observed.
    func outletText(_ pad: String) -> String? { chains.withLock { $0[pad] } == nil ? nil : "observed_\(pad)." }
}
