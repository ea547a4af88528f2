import GStreamer
import Synchronization

/// A `rawdatapipe` behind one of a session's pads, for as long as it has delegates.
final class PipeReader: Sendable {
    private struct State: Sendable {
        var element: Element?
        /// Where its frames are shown besides.
        var renderer: Element?
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
    private let properties: [(name: String, text: String)]
    private let engineRender: String?
    private let state = Mutex(State())

    /// The pad has the pipe's name.
    init(
        _ place: SessionPlace, _ identity: PipeIdentity, _ properties: [(name: String, text: String)],
        engineRender: String? = nil
    ) {
        self.place = place
        self.identity = identity
        self.properties = properties
        self.engineRender = engineRender
    }

    func subscribe(_ delegate: some RawDataDelegate, _ resolution: Resolution) throws(MediaGraphError) {
        try state.withLock { state throws(MediaGraphError) in
            let known = state.element
            let element =
                if let known { known } else { try SessionPlace.make("rawdatapipe", identity.name, properties) }
            var renderer: Element?
            if known == nil, let engineRender { renderer = try SessionPlace.make(parsing: engineRender) }
            try NodeDoor.subscribe(delegate, identity, resolution, to: element)
            state.delegates.append(Weak(delegate: delegate))
            guard known == nil else { return }
            (state.element, state.renderer) = (element, renderer)
            place.enqueue { [identity, renderer] place in
                place.graph.pipeline.add(element)
                if let renderer {
                    place.add(renderer)
                    // Before the pipe runs: then it has no more pads to give.
                    place.link(element.requestPad("src"), to: renderer)
                }
                element.syncState()
                place.link(identity.name, to: element, "sink")
            }
        }
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
            let renderer = state.renderer
            (state.element, state.renderer) = (nil, nil)
            place.enqueue { [identity] place in
                place.unlink(identity.name)
                place.remove(element)
                if let renderer { place.remove(renderer) }
            }
        }
    }

    var statistics: NodeCounts { state.withLock { $0.element }.flatMap(NodeCounts.init) ?? .none }

    /// As a description has it.
    var text: String? {
        guard state.withLock({ $0.element != nil }) else { return nil }
        let source = place.observers?.outletText(identity.name) ?? "session.\(identity.name)"
        return "\(source) ! rawdatapipe name=\(identity.name)" + properties.map { " \($0.name)=\($0.text)" }.joined()
            + (engineRender.map { " ! \($0)" } ?? "")
    }
}
