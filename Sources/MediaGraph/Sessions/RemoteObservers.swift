import GStreamer
import MediaGraphCore
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
        var isPresent: Bool

        var outlets: [Pad] { tee.pads.filter { $0.direction == .source } }
    }

    private struct State: Sendable {
        var observation: SessionObservation?
        /// The elements for each observed pad of the session, by the pad's name.
        var chains: [String: Chain] = [:]
        /// The other users in the room.
        var users: Set<String> = []
    }

    private let state: Mutex<State>
    let session = Mutex(WeakSession(nil))

    init(_ context: SessionContext) { state = Mutex(State(observation: SessionObservation(context))) }

    /// The session's observer or editor; `nil` for none. A change applies to users who join from now on.
    var observation: SessionObservation? {
        get { state.withLock { $0.observation } }
        set { state.withLock { $0.observation = newValue } }
    }

    private static func pad(of user: String) -> String { StreamKind.camera.outputPrefix + PadName.escape(user) }

    // MARK: Users, on the graph's control queue

    /// Adds an observer for a user who has joined.
    func joined(_ user: String, _ sessionGraph: SessionGraph) {
        state.withLock { state in
            state.users.insert(user)
            state.chains[Self.pad(of: user)]?.isPresent = true
        }
        do throws(MediaGraphError) { try add(for: user, sessionGraph)?.start() } catch {
            sessionGraph.warn("\(Self.pad(of: user))'s observer: \(error)")
        }
    }

    /// Adds an observer for each user in the room. Returns the links that the caller must still change.
    func addAll(_ sessionGraph: SessionGraph) throws(MediaGraphError) -> [Relinking] {
        var relinkings: [Relinking] = []
        for user in state.withLock({ $0.users.sorted() }) {
            if let relinking = try add(for: user, sessionGraph) { relinkings.append(relinking) }
        }
        return relinkings
    }

    /// Adds an observer for a user, unless the user has one or the session observes no remote video. If the user's
    /// video is already being read, returns the link that the caller must still change.
    private func add(for user: String, _ sessionGraph: SessionGraph) throws(MediaGraphError) -> Relinking? {
        let pad = Self.pad(of: user)
        let (isKnown, observation) = state.withLock { ($0.chains[pad] != nil, $0.observation) }
        guard !isKnown, let observation, observation.positions.contains(.preRenderer) else { return nil }
        let observer = try observation.make("observer_\(pad)", user: user, session.withLock { $0 })
        let tee = try SessionGraph.make("tee", "observed_\(pad)", [("allow-not-linked", "true")])
        sessionGraph.add(tee)
        sessionGraph.add(observer)
        guard observer.link(to: tee), let inlet = observer.staticPad("sink") else {
            sessionGraph.warn(pad)
            return nil
        }
        let source = sessionGraph.element.staticPad(pad)
        if source == nil { sessionGraph.linkDirectly(pad, to: observer, "sink") }
        state.withLock { $0.chains[pad] = Chain(observer: observer, tee: tee, isPresent: true) }
        guard let source, let outlet = tee.requestTeeOutlet() else { return nil }
        return Relinking(source: source) {
            let reader = source.peer
            if let reader { source.unlink(from: reader) }
            _ = source.link(to: inlet)
            // The reader may have been removed in the meantime.
            if let reader, outlet.parent != nil { _ = outlet.link(to: reader) }
        }
    }

    /// Removes the observer of a user who has left, unless somebody still subscribes to the user's video.
    func left(_ user: String, _ sessionGraph: SessionGraph) {
        let pad = Self.pad(of: user)
        state.withLock { state in
            state.users.remove(user)
            state.chains[pad]?.isPresent = false
        }
        removeUnused(pad, sessionGraph)
    }

    private func removeUnused(_ pad: String, _ sessionGraph: SessionGraph) {
        guard let chain = state.withLock({ $0.chains[pad] }), !chain.isPresent, chain.outlets.isEmpty else { return }
        remove(pad, chain, sessionGraph)
    }

    private func remove(_ pad: String, _ chain: Chain, _ sessionGraph: SessionGraph) {
        state.withLock { $0.chains[pad] = nil }
        sessionGraph.releasePad(pad)
        for element in [chain.observer, chain.tee] { sessionGraph.remove(element) }
    }

    /// Removes the observers without readers, and prepares the removal of the others: returns the changes that link
    /// each user's video to its reader directly, and the elements to remove after these changes.
    func removeAll(_ sessionGraph: SessionGraph) -> (relinkings: [Relinking], elements: [Element]) {
        var (relinkings, elements): ([Relinking], [Element]) = ([], [])
        for (pad, chain) in state.withLock({ $0.chains }).sorted(by: { $0.key < $1.key }) {
            guard let outlet = chain.outlets.first, let source = sessionGraph.element.staticPad(pad),
                let inlet = chain.observer.staticPad("sink")
            else {
                remove(pad, chain, sessionGraph)
                continue
            }
            state.withLock { $0.chains[pad] = nil }
            elements += [chain.observer, chain.tee]
            relinkings.append(
                Relinking(source: source) {
                    source.unlink(from: inlet)
                    guard let reader = outlet.peer else { return }
                    outlet.unlink(from: reader)
                    _ = source.link(to: reader)
                })
        }
        return (relinkings, elements)
    }

    // MARK: Readers, on the graph's control queue

    /// A pad downstream of the observer of the session's pad; `nil` if that pad isn't observed.
    func outlet(_ pad: String) -> Pad? { state.withLock { $0.chains[pad] }?.tee.requestTeeOutlet() }

    /// Releases the outlets of the session's pad. Returns false if the pad isn't observed.
    func release(_ pad: String, _ sessionGraph: SessionGraph) -> Bool {
        guard let chain = state.withLock({ $0.chains[pad] }) else { return false }
        for outlet in chain.outlets { chain.tee.releasePad(outlet) }
        removeUnused(pad, sessionGraph)
        return true
    }

    // MARK: As a description

    var texts: [String] {
        let (observation, pads) = state.withLock { ($0.observation, $0.chains.keys.sorted()) }
        return pads.compactMap { pad in
            observation?.text(.preRenderer, name: "observer_\(pad)").map {
                "session.\(pad) ! \($0) ! tee name=observed_\(pad) allow-not-linked=true"
            }
        }
    }

    /// The pad to link from instead of the session's pad; `nil` if that pad isn't observed.
    func outletText(_ pad: String) -> String? {
        state.withLock { $0.chains[pad] } == nil ? nil : "observed_\(pad)."
    }
}
