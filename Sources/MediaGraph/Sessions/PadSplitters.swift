import GStreamer
import MediaGraphCore
import Synchronization

/// The elements between a session's source pads and their readers, where a pad has an observer or two readers:
///
/// ```
/// session.video_bob ─▶ frameobserver ─▶ tee ─┬─▶ rawdatapipe, while somebody subscribes
///                                            └─▶ canvas
/// ```
/// A pad without a splitter is linked to its only reader. Used on the graph's control queue.
final class PadSplitters: Sendable {
    private struct Splitter: Sendable {
        let tee: Element
        var observer: Element?
        /// Whether the splitter stays without readers, because the observed user is in the room.
        var isKept = false
        /// The tee's source pads, by the names of the elements that they lead to.
        var outlets: [String: Pad] = [:]

        mutating func set(observer: Element?) {
            self.observer = observer
            isKept = observer != nil
        }
    }

    /// The splitters by the names of the session's pads.
    private let splitters = Mutex<[String: Splitter]>([:])

    private static func teeName(_ pad: String) -> String { "split_\(pad)" }

    // MARK: Observers

    /// Returns whether the session's pad has an observer.
    func hasObserver(_ pad: String) -> Bool { splitters.withLock { $0[pad]?.observer != nil } }

    /// Sets whether a pad's observer stays while nobody reads the pad. If it doesn't, removes it once there are no readers.
    func setObserverKept(_ isKept: Bool, behind pad: String, _ sessionGraph: SessionGraph) {
        splitters.withLock { $0[pad]?.isKept = isKept }
        removeIfUnused(pad, sessionGraph)
    }

    /// Adds an observer behind a pad that has none. If data may flow already, returns the change of links that the caller must
    /// still make.
    func add(
        observer: Element, behind pad: String, _ sessionGraph: SessionGraph
    ) throws(MediaGraphError) -> Relinking? {
        guard let inlet = observer.staticPad("sink"), let outlet = observer.staticPad("src") else {
            throw .internalError(.init(observer.name, actual: "has no pads"))
        }
        guard let splitter = splitters.withLock({ $0[pad] }) else {
            let tee = try SessionGraph.makeTee(Self.teeName(pad))
            sessionGraph.add(tee)
            sessionGraph.add(observer)
            guard observer.link(to: tee) else { throw .internalError(.init(observer.name, actual: "can't be linked")) }
            splitters.withLock { $0[pad] = Splitter(tee: tee, observer: observer, isKept: true) }
            return insert(inlet, observer, behind: pad, sessionGraph)
        }
        sessionGraph.add(observer)
        splitters.withLock { $0[pad]?.set(observer: observer) }
        guard let source = sessionGraph.element.staticPad(pad), let next = splitter.tee.staticPad("sink") else {
            return nil
        }
        return Relinking(source: source) {
            source.unlink(from: next)
            _ = source.link(to: inlet)
            _ = outlet.link(to: next)
        }
    }

    /// Links the session's pad to the beginning of its new splitter. If the pad has a reader, returns the change of links that the
    /// caller must still make.
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
        for (pad, splitter) in splitters.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            guard let observer = splitter.observer else { continue }
            guard !splitter.outlets.isEmpty else {
                remove(pad, splitter, sessionGraph)
                continue
            }
            elements.append(observer)
            splitters.withLock { $0[pad]?.set(observer: nil) }
            if let relinking = Relinking(removing: observer) { relinkings.append(relinking) }
        }
        return (relinkings, elements)
    }

    // MARK: Readers

    /// Returns a pad of the splitter's tee for one more reader. If the session's pad has a reader but no splitter, inserts a
    /// tee first. Returns `nil` if it has neither; then the reader is linked directly.
    func outlet(
        _ pad: String, to reader: Element, _ sessionGraph: SessionGraph
    ) throws(MediaGraphError) -> Pad? {
        if splitters.withLock({ $0[pad] }) == nil {
            guard sessionGraph.element.staticPad(pad) != nil else { return nil }
            let tee = try SessionGraph.makeTee(Self.teeName(pad))
            guard let inlet = tee.staticPad("sink") else { throw .internalError(.init(tee.name, actual: "has no pad")) }
            sessionGraph.add(tee)
            splitters.withLock { $0[pad] = Splitter(tee: tee) }
            insert(inlet, tee, behind: pad, sessionGraph)?.start()
        }
        return outlet(pad, to: reader)
    }

    /// Returns a pad downstream of the session's pad for this reader; `nil` if the session's pad has no splitter.
    private func outlet(_ pad: String, to reader: Element) -> Pad? {
        guard let outlet = splitters.withLock({ $0[pad] })?.tee.requestTeeOutlet() else { return nil }
        splitters.withLock { $0[pad]?.outlets[reader.name] = outlet }
        return outlet
    }

    /// Releases the outlet of a reader. Returns false if the session's pad has no splitter.
    func release(_ pad: String, to reader: Element, _ sessionGraph: SessionGraph) -> Bool {
        let (splitter, outlet) = splitters.withLock { splitters in
            (splitters[pad], splitters[pad]?.outlets.removeValue(forKey: reader.name))
        }
        guard let splitter else { return false }
        if let outlet {
            splitter.tee.releasePad(outlet)
            // The others may need less than this reader.
            splitter.tee.staticPad("sink")?.sendUpstream(Resolution.demandChanged)
        }
        // So a change of links that still waits for the current frame finds no reader.
        if let source = sessionGraph.element.staticPad(pad), let next = source.peer, next.parent == reader {
            source.unlink(from: next)
        }
        removeIfUnused(pad, sessionGraph)
        return true
    }

    private func removeIfUnused(_ pad: String, _ sessionGraph: SessionGraph) {
        guard let splitter = splitters.withLock({ $0[pad] }), !splitter.isKept, splitter.outlets.isEmpty else { return }
        remove(pad, splitter, sessionGraph)
    }

    private func remove(_ pad: String, _ splitter: Splitter, _ sessionGraph: SessionGraph) {
        splitters.withLock { $0[pad] = nil }
        sessionGraph.releasePad(pad)
        for element in [splitter.observer, splitter.tee].compactMap(\.self) { sessionGraph.remove(element) }
    }

    // MARK: As a description

    /// Returns the splitters as descriptions, with `observation`'s text for each observer.
    func texts(_ observation: SessionObservation?) -> [String] {
        splitters.withLock { $0 }.sorted { $0.key < $1.key }.map { pad, splitter in
            let observer = splitter.observer.flatMap { observation?.text(.preRenderer, name: $0.name) }
            return (["session.\(pad)", observer, "tee name=\(Self.teeName(pad)) allow-not-linked=true"] as [String?])
                .compactMap(\.self).joined(separator: " ! ")
        }
    }

    /// Returns, as text, the pad that readers of the session's pad are linked to.
    func sourceText(_ pad: String) -> String {
        splitters.withLock { $0[pad] } == nil ? "session.\(pad)" : "\(Self.teeName(pad))."
    }
}
