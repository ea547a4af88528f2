import GStreamer
import MediaGraphCore
import Synchronization

extension Session {
    /// Registers a frame observer in place of the current observer or editor; `nil` only removes the current one
    /// (Agora's registerVideoFrameObserver). May be called at any time, also while in the room.
    ///
    /// The current one is the context's ``SessionContext/frameObserver`` or ``SessionContext/frameEditor``, or the one
    /// that was registered last. The new observer is called from the next frame on, at its positions. When this
    /// returns, no call of the previous one is running and none will follow. The change loses and reorders no frame.
    ///
    /// Waits until no frame is passing through the positions. Throws `tooMuchAtOnce` while another observer or editor
    /// is being registered, and `unsupported` if the camera's frames can't be converted for an observer.
    public func setFrameObserver(_ observer: (any SessionFrameObserver)?) async throws(MediaGraphError) {
        var context = context
        (context.frameObserver, context.frameEditor) = (observer, nil)
        try await observe(SessionObservation(context))
    }

    /// Registers a frame editor, or removes the current observer or editor with `nil`, as ``setFrameObserver(_:)`` does
    /// (Agora's observer in read-write mode).
    public func setFrameEditor(_ editor: (any SessionFrameEditor)?) async throws(MediaGraphError) {
        var context = context
        (context.frameObserver, context.frameEditor) = (nil, editor)
        try await observe(SessionObservation(context))
    }

    private func observe(_ new: SessionObservation?) async throws(MediaGraphError) {
        guard let observers = sessionGraph.observers, observerChange.begin() else {
            throw .tooMuchAtOnce(
                .init("the session's frame observer", actual: "is being changed; wait for the other call to return"))
        }
        defer { observerChange.end() }
        observers.observation = nil
        try await removeObservers(observers)
        observers.observation = new
        do throws(MediaGraphError) { try await addObservers(observers, new) } catch {
            observers.observation = nil
            try await removeObservers(observers)
            throw error
        }
    }

    private func removeObservers(_ observers: RemoteObservers) async throws(MediaGraphError) {
        try await removeObservers { $0.splitters.removeObservers($0) }
        // One after the other, because the observers may be adjacent.
        for position in [FramePosition.postCapture, .preEncoder] {
            try await removeObservers { sessionGraph in
                guard let element = sessionGraph.element(of: position) else { return ([], []) }
                return (Relinking(removing: element).map { [$0] } ?? [], [element])
            }
        }
    }

    /// Runs `find` on the control queue, makes the changes of links that it returns, and then removes its elements.
    private func removeObservers(
        _ find: @escaping @Sendable (SessionGraph) -> (relinkings: [Relinking], elements: [Element])
    ) async throws(MediaGraphError) {
        let old = Mutex<(relinkings: [Relinking], elements: [Element])>(([], []))
        try await graph.onControlQueue { [sessionGraph] in old.withLock { $0 = find(sessionGraph) } }
        let (relinkings, elements) = old.withLock { $0 }
        for relinking in relinkings { await relinking.run() }
        guard !elements.isEmpty else { return }
        try await graph.onControlQueue { [sessionGraph] in
            for element in elements { sessionGraph.remove(element) }
        }
    }

    private func addObservers(
        _ observers: RemoteObservers, _ new: SessionObservation?
    ) async throws(MediaGraphError) {
        guard let new else { return }
        // One after the other, because the second may follow the first.
        for position in [FramePosition.postCapture, .preEncoder] {
            try await link { [sessionGraph, context] () throws(MediaGraphError) in
                try sessionGraph.insert(new, position, context).map { [$0] } ?? []
            }
        }
        try await link { [sessionGraph] () throws(MediaGraphError) in try observers.addAll(sessionGraph) }
    }

    /// Runs `body` on the control queue, and then links what it returns.
    private func link(
        _ body: @escaping @Sendable () throws(MediaGraphError) -> [Relinking]
    ) async throws(MediaGraphError) {
        let relinkings = Mutex<[Relinking]>([])
        try await graph.onControlQueue { () throws(MediaGraphError) in
            let made = try body()
            relinkings.withLock { $0 = made }
        }
        for relinking in relinkings.withLock({ $0 }) { await relinking.run() }
    }
}

/// Whether a session's observer is being changed.
final class ObserverChange: Sendable {
    private let isRunning = Atomic<Bool>(false)
    /// Returns false if another change is running.
    func begin() -> Bool { !isRunning.exchange(true, ordering: .acquiringAndReleasing) }
    func end() { isRunning.store(false, ordering: .releasing) }
}

extension SessionGraph {
    /// The node that observes the local user's video at a position; `nil` if there is none.
    fileprivate func element(of position: FramePosition) -> Element? {
        graph.pipeline.element(named: SessionObservation.name(of: position))
    }

    /// Adds a node that observes the local user's video, on the control queue. Returns what is still to be linked, or
    /// `nil` if the position isn't observed or there is no camera.
    fileprivate func insert(
        _ observation: SessionObservation, _ position: FramePosition, _ context: SessionContext
    ) throws(MediaGraphError) -> Relinking? {
        let following = [
            context.alphaMask == nil ? nil : "alpha",
            context.preProcessor == nil ? nil : SessionContext.preProcessorInput,
        ]
        let processor = position == .postCapture ? following.compactMap { $0 }.first : nil
        let next =
            processor.flatMap { graph.pipeline.element(named: $0)?.staticPad("sink") } ?? element.staticPad("camera")
        guard let next, let source = next.peer, let node = try observation.make(position) else { return nil }
        guard let sink = node.staticPad("sink"), let outlet = node.staticPad("src") else {
            throw .internalError(.init(node.name, actual: "has no pads"))
        }
        if let caps = source.currentCaps, !caps.canIntersect(sink.queryCaps()) {
            throw .unsupported(
                .init(
                    "the session's frame observer", expected: "\(sink.queryCaps())", actual: "\(caps) from the camera"))
        }
        add(node)
        return Relinking(source: source) {
            source.unlink(from: next)
            _ = source.link(to: sink)
            _ = outlet.link(to: next)
        }
    }
}

/// A change of a source pad's link, which waits until no data is leaving the pad.
struct Relinking: Sendable {
    let source: Pad
    let body: @Sendable () -> Void

    init(source: Pad, _ body: @escaping @Sendable () -> Void) { (self.source, self.body) = (source, body) }

    /// Takes an element with one sink and one source pad out of its stream; `nil` if the element isn't linked.
    init?(removing element: Element) {
        guard let sink = element.staticPad("sink"), let outlet = element.staticPad("src"), let source = sink.peer,
            let next = outlet.peer
        else { return nil }
        self.init(source: source) {
            source.unlink(from: sink)
            outlet.unlink(from: next)
            _ = source.link(to: next)
        }
    }

    /// Makes the change as soon as possible, without waiting.
    func start() { source.whenIdle(body) }

    /// Makes the change, and returns after that, or when the pad has been removed.
    func run() async {
        await withCheckedContinuation { continuation in
            let end = End(continuation)
            source.whenIdle { [body] in
                body()
                withExtendedLifetime(end) {}
            }
        }
    }

    /// Resumes a waiting task when it is released: after the change, or with the pad.
    private final class End: Sendable {
        private let continuation: CheckedContinuation<Void, Never>
        init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }
        deinit { continuation.resume() }
    }
}
