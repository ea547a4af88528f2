import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// A `rawdatapipe` behind one of a session's pads, for as long as somebody receives its frames.
final class PipeReader: Sendable {
    private struct State: Sendable {
        var element: Element?
        /// Where its frames are shown besides.
        var renderer: Element?
        /// Delegates, and channels of tasks. One that is gone counts as unsubscribed.
        var receivers: [Weak] = []

        mutating func remove(_ receiver: AnyObject) {
            receivers.removeAll { $0.receiver == nil || $0.receiver === receiver }
        }
    }

    private struct Weak: Sendable {
        weak var receiver: (any AnyObject & Sendable)?
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
        // A delegate that throws costs itself the frame, not everybody the session.
        self.properties = properties + [("on-error", DeliveryFailurePolicy.drop.nick)]
        self.engineRender = engineRender
    }

    func subscribe(_ delegate: some RawDataDelegate, _ resolution: Resolution) throws(MediaGraphError) {
        try add(delegate) { (element) throws(MediaGraphError) in
            try NodeVTable.subscribe(delegate, identity, resolution, to: element)
        }
    }

    /// Subscribes until nobody reads the sequence any more.
    func frames(_ resolution: Resolution) throws(MediaGraphError) -> FrameSequence<OwnedVideoFrame> {
        guard !properties.contains(where: { $0 == ("memory-mode", MemoryMode.stack.nick) }) else {
            throw .invalidParameter(
                .init("\(identity.name)'s memory mode", expected: "heap, for frames that are kept", actual: "stack"))
        }
        let channel = FrameChannel<OwnedVideoFrame>()
        try add(channel) { (element) throws(MediaGraphError) in
            try NodeVTable.subscribe(channel, resolution, to: element)
        }
        // Not on the thread that gives the sequence up, which may be a task's: it waits for a callback in flight.
        channel.whenAbandoned { [place, self] in place.enqueue { _ in try? self.unsubscribe(channel) } }
        place.graph.streams.add(channel)
        return FrameSequence(channel, graph: place.graph)
    }

    private func add(
        _ receiver: some AnyObject & Sendable, _ subscribe: (Element) throws(MediaGraphError) -> Void
    ) throws(MediaGraphError) {
        try state.withLock { state throws(MediaGraphError) in
            let known = state.element
            let element =
                if let known { known } else { try SessionPlace.make("rawdatapipe", identity.name, properties) }
            var renderer: Element?
            if known == nil, let engineRender { renderer = try SessionPlace.make(parsing: engineRender) }
            try subscribe(element)
            state.receivers.append(Weak(receiver: receiver))
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

    func unsubscribe(_ receiver: some AnyObject & Sendable) throws(MediaGraphError) {
        guard let element = state.withLock({ $0.element }) else {
            throw .wrongUsage(.init(identity.name, expected: "a delegate that is subscribed", actual: "another"))
        }
        // It waits for callbacks, which may subscribe others: outside the lock.
        try NodeVTable.unsubscribe(receiver, from: element)
        state.withLock { $0.remove(receiver) }
        removeIfUnread()
    }

    /// Nobody pays for what nobody reads.
    func removeIfUnread() {
        state.withLock { state in
            guard let element = state.element, state.receivers.allSatisfy({ $0.receiver == nil }) else { return }
            let renderer = state.renderer
            (state.element, state.renderer, state.receivers) = (nil, nil, [])
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
