import GStreamer
import Synchronization

/// A `rawdatapipe` behind one of a session's pads, for as long as it has delegates.
final class PipeReader: Sendable {
    private struct State: Sendable {
        var element: Element?
        /// One that is gone counts as unsubscribed.
        var delegates: [Weak] = []

        mutating func remove(_ delegate: some RawDataDelegate) {
            delegates.removeAll { $0.delegate == nil || $0.delegate === delegate }
        }
    }

    private struct Weak: Sendable {
        weak var delegate: (any RawDataDelegate)?
    }

    private let place: SessionPlace
    private let identity: PipeIdentity
    private let memoryMode: MemoryMode?
    private let state = Mutex(State())

    /// The pad has the pipe's name.
    init(_ place: SessionPlace, _ identity: PipeIdentity, _ memoryMode: MemoryMode?) {
        self.place = place
        self.identity = identity
        self.memoryMode = memoryMode
    }

    func subscribe(_ delegate: some RawDataDelegate, _ resolution: Resolution) throws(MediaGraphError) {
        try state.withLock { state throws(MediaGraphError) in
            let known = state.element
            let element = if let known { known } else { try makeElement() }
            try NodeDoor.subscribe(delegate, identity, resolution, to: element)
            state.delegates.append(Weak(delegate: delegate))
            guard known == nil else { return }
            state.element = element
            place.enqueue { [identity] place in
                place.add(element)
                place.link(identity.name, to: element, "sink")
            }
        }
    }

    /// A delegate that throws costs itself the frame, not everybody the session.
    private func makeElement() throws(MediaGraphError) -> Element {
        let element = try SessionPlace.make("rawdatapipe", identity.name, memoryMode)
        do { try element.setProperty("on-error", parsing: DeliveryFailurePolicy.drop.nick) } catch {
            throw .wrapping(error, identity.name)
        }
        return element
    }

    func unsubscribe(_ delegate: some RawDataDelegate) throws(MediaGraphError) {
        guard let element = state.withLock({ $0.element }) else {
            throw .wrongUsage(.init(identity.name, expected: "a delegate that is subscribed", actual: "another"))
        }
        // It waits for callbacks, which may subscribe others: outside the lock.
        try NodeDoor.unsubscribe(delegate, from: element)
        state.withLock { state in
            state.remove(delegate)
            guard state.delegates.isEmpty, state.element == element else { return }
            state.element = nil
            place.enqueue { [identity] place in
                place.unlink(identity.name)
                place.remove(element)
            }
        }
    }

    var statistics: NodeCounts { state.withLock { $0.element }.flatMap(NodeCounts.init) ?? .none }

    /// As a description has it.
    var text: String? {
        guard state.withLock({ $0.element != nil }) else { return nil }
        let mode = memoryMode.map { " memory-mode=\($0.nick)" } ?? ""
        return "session.\(identity.name) ! rawdatapipe name=\(identity.name)\(mode) on-error=drop"
    }
}
