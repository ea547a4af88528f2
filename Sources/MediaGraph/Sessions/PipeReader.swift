import GStreamer
import MediaGraphCore
import Synchronization

/// The readers of one of a session's pads: a `rawdatapipe`, which exists while it has subscribers, and the canvas.
final class PipeReader: Sendable {
    private struct State: Sendable {
        var element: Element?
        /// The subscribed delegates and channels. One that has been released counts as unsubscribed.
        var receivers: [Weak] = []
        /// The number of subscriptions so far.
        var count = 0

        /// Removes the released receivers, and the subscription with this number. Returns references to all that
        /// weren't released, which the caller must keep until it has released the lock: each may be the last one, and a
        /// receiver's deinitializer may use the pipe.
        mutating func remove(_ number: Int? = nil) -> [any AnyObject & Sendable] {
            var found: [any AnyObject & Sendable] = []
            receivers = receivers.filter { entry in
                guard let known = entry.receiver else { return false }
                found.append(known)
                return entry.number != number
            }
            return found
        }
    }

    private struct Weak: Sendable {
        /// Compared instead of `receiver`: a reference that is made under the lock may be the last one.
        let identity: ObjectIdentifier
        weak var receiver: (any AnyObject & Sendable)?
        let format: PipeFormat
        /// The number of the subscription, to tell it from a later one of the same receiver.
        let number: Int

        init(_ receiver: any AnyObject & Sendable, _ format: PipeFormat, number: Int) {
            identity = ObjectIdentifier(receiver)
            self.receiver = receiver
            self.format = format
            self.number = number
        }
    }

    private let sessionGraph: SessionGraph
    let identity: PipeIdentity
    private let properties: [(name: String, text: String)]
    let canvas: PipeCanvas
    private let state = Mutex(State())
    /// Whether the pipe exists. Atomic, because a callback that `subscribe` waits for may read it.
    private let exists = Atomic<Bool>(false)
    private let removed: @Sendable () -> Void

    /// Makes a reader of the session's pad that has the same name as the pipe. `defaultCanvas` shows the frames while there
    /// are subscribers. `removed` is called when the pipe has been removed after its last subscriber.
    init(
        _ sessionGraph: SessionGraph, _ identity: PipeIdentity, _ properties: [(name: String, text: String)],
        defaultCanvas: String? = nil, removed: @escaping @Sendable () -> Void = {}
    ) {
        self.sessionGraph = sessionGraph
        self.identity = identity
        self.properties = properties
        canvas = PipeCanvas(sessionGraph, identity.name, default: defaultCanvas)
        self.removed = removed
    }

    /// Subscribes a delegate, and makes the pipe if there is none. If the delegate is subscribed in this format, changes
    /// its resolution.
    func subscribe(
        _ delegate: some RawDataDelegate, _ resolution: Resolution, _ format: PipeFormat
    ) throws(MediaGraphError) {
        try add(delegate, format) { (element, mightBeSubscribed) throws(MediaGraphError) in
            do throws(MediaGraphError) {
                // Try this first: a delegate that was detached after a failure is subscribed anew.
                try NodeVTable.subscribe(delegate, identity, resolution, format, to: element)
            } catch {
                guard mightBeSubscribed, error.code == .alreadyInUse else { throw error }
                try NodeVTable.setResolution(resolution, of: delegate, on: element)
            }
        }
    }

    /// Returns a sequence of the pipe's frames, which is subscribed until its reader is gone.
    func frames(
        _ resolution: Resolution, _ format: PipeFormat
    ) throws(MediaGraphError) -> FrameSequence<OwnedVideoFrame> {
        let channel = FrameChannel<OwnedVideoFrame>()
        try add(channel, format) { (element, _) throws(MediaGraphError) in
            try NodeVTable.subscribe(channel, resolution, format, to: element)
        }
        // Queued, because unsubscribing waits for a running callback, and a task may abandon the channel.
        channel.whenAbandoned { [sessionGraph, self] in sessionGraph.enqueue { _ in try? self.unsubscribe(channel) } }
        sessionGraph.graph.streams.add(channel)
        return FrameSequence(channel, graph: sessionGraph.graph)
    }

    /// Adds a receiver, and makes the pipe if there is none. `mightBeSubscribed` is true if the receiver might be subscribed in
    /// this format already.
    private func add(
        _ receiver: some AnyObject & Sendable, _ format: PipeFormat,
        _ subscribe: (_ element: Element, _ mightBeSubscribed: Bool) throws(MediaGraphError) -> Void
    ) throws(MediaGraphError) {
        let existing = try state.withLock { state throws(MediaGraphError) -> Element? in
            let known = state.element
            let element =
                if let known { known } else { try SessionGraph.make("rawdatapipe", identity.name, properties) }
            let defaultCanvas = known == nil ? try canvas.makeDefault() : nil
            state.count += 1
            let new = Weak(receiver, format, number: state.count)
            let mightBeSubscribed = state.receivers.contains { $0.identity == new.identity && $0.format == format }
            try subscribe(element, mightBeSubscribed)
            state.receivers.removeAll { $0.identity == new.identity }
            state.receivers.append(new)
            if let known { return known }
            state.element = element
            exists.store(true, ordering: .releasing)
            sessionGraph.addLater(element, behind: identity.name)
            canvas.pipeExists(true, defaultCanvas)
            return nil
        }
        // Makes a share resend its last frame, which this reader may have missed.
        if identity.kind == .share { existing?.staticPad("sink")?.sendUpstream(Resolution.demandChanged) }
    }

    /// Unsubscribes a delegate, and removes the pipe after the last one. Waits for a running callback to return.
    func unsubscribe(_ receiver: some AnyObject & Sendable) async throws(MediaGraphError) {
        try await runBlocking { () throws(MediaGraphError) in try self.unsubscribe(receiver) }
    }

    /// Unsubscribes a delegate or channel, and removes the pipe after the last one. Blocks until a running callback has
    /// returned.
    @available(*, noasync)
    func unsubscribe(_ receiver: some AnyObject & Sendable) throws(MediaGraphError) {
        let (element, number) = state.withLock { state in
            (state.element, state.receivers.first { $0.identity == ObjectIdentifier(receiver) }?.number)
        }
        guard let element else {
            throw .wrongUsage(.init(identity.name, actual: "the delegate isn't subscribed"))
        }
        // Without holding the lock, because this waits for callbacks, which may subscribe others.
        try NodeVTable.unsubscribe(receiver, from: element)
        // Another thread may have subscribed the receiver again meanwhile.
        _ = state.withLock { $0.remove(number) }
        removeIfUnread()
    }

    /// Removes the pipe if it has no subscribers, so that unread video costs nothing.
    func removeIfUnread() {
        let (_, wasRemoved) = state.withLock { state in
            let found = state.remove()
            guard let element = state.element, found.isEmpty else { return (found, false) }
            state.element = nil
            exists.store(false, ordering: .releasing)
            sessionGraph.removeLater(element, behind: identity.name)
            canvas.pipeExists(false)
            return (found, true)
        }
        if wasRemoved { removed() }
    }

    /// Whether the pipe has subscribers.
    var isRead: Bool { exists.load(ordering: .acquiring) }

    var statistics: NodeCounts { state.withLock { $0.element }.flatMap(NodeCounts.init) ?? .none }

    /// The pipe and the canvas as descriptions, as far as they exist.
    var texts: [String] {
        let exists = state.withLock { $0.element != nil }
        let pipe = "rawdatapipe name=\(identity.name)" + properties.map { " \($0.name)=\($0.text)" }.joined()
        let source = sessionGraph.splitters.sourceText(identity.name)
        return [exists ? pipe : nil, canvas.text].compactMap(\.self).map { "\(source) ! \($0)" }
    }
}
