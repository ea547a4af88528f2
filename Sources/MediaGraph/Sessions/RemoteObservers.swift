import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession
import Synchronization

/// The observers of the other users' video, one for each user, upstream of the pipes that read the video.
///
/// Elements are added and removed on the graph's control queue. An observer is removed when its user has left and
/// nobody reads that user's video any more.
final class RemoteObservers: Sendable {
    private struct State: Sendable {
        var observation: SessionObservation?
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

    /// Adds an observer for a user who has joined.
    func joined(_ user: String, _ sessionGraph: SessionGraph) {
        state.withLock { _ = $0.users.insert(user) }
        let pad = Self.pad(of: user)
        guard !sessionGraph.splitters.hasObserver(pad) else {
            return sessionGraph.splitters.setObserverKept(true, behind: pad, sessionGraph)
        }
        do throws(MediaGraphError) { try add(for: user, sessionGraph)?.start() } catch {
            sessionGraph.warn("\(pad)'s observer", error)
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
        guard !sessionGraph.splitters.hasObserver(pad), let observation,
            observation.positions.contains(.preRenderer)
        else { return nil }
        let observer = try observation.make("observer_\(pad)", user: user, session.withLock { $0 })
        return try sessionGraph.splitters.add(observer: observer, behind: pad, sessionGraph)
    }

    /// Removes the observer of a user who has left, unless somebody still reads the user's video.
    func left(_ user: String, _ sessionGraph: SessionGraph) {
        state.withLock { _ = $0.users.remove(user) }
        sessionGraph.splitters.setObserverKept(false, behind: Self.pad(of: user), sessionGraph)
    }
}
