import GStreamer
import MediaGraphCore
import Synchronization

/// What stands between a session's source pads and their readers, where a pad has an observer or two readers:
///
/// ```
/// session.video_bob ─▶ frameobserver ─▶ tee ─┬─▶ rawdatapipe, while somebody subscribes
///                                            └─▶ canvas
/// ```
/// A pad without a branch is linked to its only reader. Used on the graph's control queue.
final class PadBranches: Sendable {
    private struct Branch: Sendable {
        let tee: Element
        var observer: Element?
        /// Whether the branch stays without readers, because the observed user is in the room.
        var isKept = false
        /// The tee's source pads, by the names of the elements that they lead to.
        var outlets: [String: Pad] = [:]

        mutating func set(observer: Element?) {
            self.observer = observer
            isKept = observer != nil
        }
    }

    /// The branches by the names of the session's pads.
    private let branches = Mutex<[String: Branch]>([:])

    private static func teeName(_ pad: String) -> String { "split_\(pad)" }

    // MARK: Observers

    /// Whether the session's pad has an observer.
    func hasObserver(_ pad: String) -> Bool { branches.withLock { $0[pad]?.observer != nil } }

    /// Sets whether a pad's observer stays without readers, and removes it if it doesn't and there are none.
    func keep(_ pad: String, _ isKept: Bool, _ sessionGraph: SessionGraph) {
        branches.withLock { $0[pad]?.isKept = isKept }
        removeIfUnused(pad, sessionGraph)
    }

    /// Adds an observer behind a pad that has none. If data may flow already, returns the link that the caller must still
    /// change.
    func add(
        observer: Element, behind pad: String, _ sessionGraph: SessionGraph
    ) throws(MediaGraphError) -> Relinking? {
        guard let inlet = observer.staticPad("sink"), let outlet = observer.staticPad("src") else {
            throw .internalError(.init(observer.name, actual: "has no pads"))
        }
        guard let branch = branches.withLock({ $0[pad] }) else {
            let tee = try SessionGraph.makeTee(Self.teeName(pad))
            sessionGraph.add(tee)
            sessionGraph.add(observer)
            guard observer.link(to: tee) else { throw .internalError(.init(observer.name, actual: "can't be linked")) }
            branches.withLock { $0[pad] = Branch(tee: tee, observer: observer, isKept: true) }
            return insert(inlet, observer, behind: pad, sessionGraph)
        }
        sessionGraph.add(observer)
        branches.withLock { $0[pad]?.set(observer: observer) }
        guard let source = sessionGraph.element.staticPad(pad), let next = branch.tee.staticPad("sink") else {
            return nil
        }
        return Relinking(source: source) {
            source.unlink(from: next)
            _ = source.link(to: inlet)
            _ = outlet.link(to: next)
        }
    }

    /// Links the session's pad to the beginning of its new branch. If the pad has a reader, returns the link that the caller
    /// must still change.
    private func insert(
        _ inlet: Pad, _ first: Element, behind pad: String, _ sessionGraph: SessionGraph
    ) -> Relinking? {
        guard let source = sessionGraph.element.staticPad(pad) else {
            sessionGraph.linkDirectly(pad, to: first, "sink")
            return nil
        }
        let reader = source.peer.flatMap(\.parent)
        let outlet = reader.flatMap { self.outlet(pad, to: $0) }
        return Relinking(source: source) {
            let next = source.peer
            if let next { source.unlink(from: next) }
            _ = source.link(to: inlet)
            // The reader may have been removed in the meantime.
            if let next, let outlet, outlet.parent != nil { _ = outlet.link(to: next) }
        }
    }

    /// Removes the observers of pads without readers, and prepares the removal of the others. Returns the changes of links
    /// to make, and the elements to remove after these changes.
    func removeObservers(_ sessionGraph: SessionGraph) -> (relinkings: [Relinking], elements: [Element]) {
        var (relinkings, elements): ([Relinking], [Element]) = ([], [])
        for (pad, branch) in branches.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            guard let observer = branch.observer else { continue }
            guard !branch.outlets.isEmpty, let source = sessionGraph.element.staticPad(pad),
                let inlet = observer.staticPad("sink")
            else {
                remove(pad, branch, sessionGraph)
                continue
            }
            elements.append(observer)
            guard branch.outlets.count == 1, let outlet = branch.outlets.values.first else {
                branches.withLock { $0[pad]?.set(observer: nil) }
                if let relinking = Relinking(removing: observer) { relinkings.append(relinking) }
                continue
            }
            branches.withLock { $0[pad] = nil }
            elements.append(branch.tee)
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

    // MARK: Readers

    /// Returns a pad downstream of the session's pad for one more reader. If the pad has its first reader already, inserts a
    /// tee. Returns `nil` if the reader is the first one, for which there is no branch.
    func outlet(
        _ pad: String, to reader: Element, _ sessionGraph: SessionGraph
    ) throws(MediaGraphError) -> Pad? {
        if branches.withLock({ $0[pad] }) == nil {
            guard sessionGraph.element.staticPad(pad) != nil else { return nil }
            let tee = try SessionGraph.makeTee(Self.teeName(pad))
            guard let inlet = tee.staticPad("sink") else { throw .internalError(.init(tee.name, actual: "has no pad")) }
            sessionGraph.add(tee)
            branches.withLock { $0[pad] = Branch(tee: tee) }
            insert(inlet, tee, behind: pad, sessionGraph)?.start()
        }
        return outlet(pad, to: reader)
    }

    /// Returns a pad downstream of the session's pad for this reader; `nil` if the session's pad has no branch.
    private func outlet(_ pad: String, to reader: Element) -> Pad? {
        guard let outlet = branches.withLock({ $0[pad] })?.tee.requestTeeOutlet() else { return nil }
        branches.withLock { $0[pad]?.outlets[reader.name] = outlet }
        return outlet
    }

    /// Releases the outlet of a reader. Returns false if the session's pad has no branch.
    func release(_ pad: String, to reader: Element, _ sessionGraph: SessionGraph) -> Bool {
        let (branch, outlet) = branches.withLock { branches in
            (branches[pad], branches[pad]?.outlets.removeValue(forKey: reader.name))
        }
        guard let branch else { return false }
        if let outlet { branch.tee.releasePad(outlet) }
        // A change of links that waits for the current frame finds no reader then.
        if let source = sessionGraph.element.staticPad(pad), let next = source.peer, next.parent == reader {
            source.unlink(from: next)
        }
        removeIfUnused(pad, sessionGraph)
        return true
    }

    private func removeIfUnused(_ pad: String, _ sessionGraph: SessionGraph) {
        guard let branch = branches.withLock({ $0[pad] }), !branch.isKept, branch.outlets.isEmpty else { return }
        remove(pad, branch, sessionGraph)
    }

    private func remove(_ pad: String, _ branch: Branch, _ sessionGraph: SessionGraph) {
        branches.withLock { $0[pad] = nil }
        sessionGraph.releasePad(pad)
        for element in [branch.observer, branch.tee].compactMap(\.self) { sessionGraph.remove(element) }
    }

    // MARK: As a description

    /// The branches, with `observation`'s description of each observer.
    func texts(_ observation: SessionObservation?) -> [String] {
        branches.withLock { $0 }.sorted { $0.key < $1.key }.map { pad, branch in
            let observer = branch.observer.flatMap { observation?.text(.preRenderer, name: $0.name) }
            return (["session.\(pad)", observer, "tee name=\(Self.teeName(pad)) allow-not-linked=true"] as [String?])
                .compactMap(\.self).joined(separator: " ! ")
        }
    }

    /// What readers of the session's pad link from.
    func sourceText(_ pad: String) -> String {
        branches.withLock { $0[pad] } == nil ? "session.\(pad)" : "\(Self.teeName(pad))."
    }
}
