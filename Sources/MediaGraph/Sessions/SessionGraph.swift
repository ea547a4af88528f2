import GStreamer
import MediaGraphCore

/// A session's graph and `mediasession` element, with functions that add, link and remove other elements while the
/// session runs.
///
/// Elements are added and removed one after the other on the graph's control queue, where state changes happen too. So
/// a removed element is gone before its pad is requested again.
struct SessionGraph: Sendable {
    let graph: Graph
    let element: Element
    /// The session's observer, and the nodes that observe the other users' video.
    var observers: RemoteObservers? = nil
    /// The elements between the session's source pads and their readers.
    let splitters: PadSplitters

    var name: String { element.name }

    /// Runs `body` later on the graph's control queue. Doesn't keep the graph alive.
    func enqueue(_ body: @escaping @Sendable (SessionGraph) -> Void) {
        graph.enqueue { [weak graph, element, observers, splitters] in
            guard let graph else { return }
            body(SessionGraph(graph: graph, element: element, observers: observers, splitters: splitters))
        }
    }

    /// Links the session's `pad`, or an outlet of its splitter, to a pad of another element. Requests pads that don't exist
    /// yet. Called on the control queue.
    func link(_ pad: String, to next: Element, _ nextPad: String) {
        do throws(MediaGraphError) {
            let isLinked = try splitters.add(reader: next, behind: pad, self) { outlet in
                if !link(outlet, to: next, nextPad) { warn(pad) }
            }
            if !isLinked { linkDirectly(pad, to: next, nextPad) }
        } catch { warn(pad, error) }
    }

    /// Links the session's `pad` itself to a pad of another element. Called on the control queue.
    func linkDirectly(_ pad: String, to next: Element, _ nextPad: String) {
        guard let source = element.requestPad(pad) else { return warn(pad) }
        guard link(source, to: next, nextPad) else {
            element.releasePad(source)
            return warn(pad)
        }
    }

    /// Links a source pad to a static or request pad. Releases the request pad if they can't be linked.
    private func link(_ source: Pad, to next: Element, _ nextPad: String) -> Bool {
        if let sink = next.staticPad(nextPad) { return source.link(to: sink) }
        guard let sink = next.requestPad(nextPad) else { return false }
        if source.link(to: sink) { return true }
        next.releasePad(sink)
        return false
    }

    /// Links a source pad to the session's input `pad`. Called on the control queue.
    func link(_ source: Pad?, _ pad: String) {
        guard let source, let sink = element.requestPad(pad) else { return warn(pad) }
        guard source.link(to: sink) else {
            element.releasePad(sink)
            return warn(pad)
        }
    }

    /// Links a source pad to an element made from a description. Called on the control queue.
    func link(_ source: Pad?, to next: Element) {
        guard let source, let sink = next.staticPad("sink"), source.link(to: sink) else { return warn(next.name) }
    }

    /// Posts a warning that a pad couldn't be linked, with the reason if it is known.
    func warn(_ pad: String, _ reason: MediaGraphError? = nil) {
        element.postWarning(.settings, "\(name): \(pad) couldn't be linked" + (reason.map { ": \($0)" } ?? ""))
    }

    /// Ends what `link` began: removes the outlet of the splitter, or the session's `pad` unless another reader has it. The
    /// other element stays in the graph.
    func unlink(_ pad: String, from next: Element) {
        guard !splitters.release(pad, to: next, self) else { return }
        if let reader = element.staticPad(pad)?.peer?.parent, reader != next { return }
        releasePad(pad)
    }

    /// Adds a reader of the session's `pad`, later on the control queue.
    func addLater(_ reader: Element, behind pad: String) {
        enqueue { sessionGraph in
            // An element that can't start has posted an error, and a frame would find it flushing.
            guard sessionGraph.add(reader) else { return }
            sessionGraph.link(pad, to: reader, "sink")
        }
    }

    /// Removes a reader of the session's `pad`, later on the control queue.
    func removeLater(_ reader: Element, behind pad: String) {
        enqueue { sessionGraph in
            sessionGraph.unlink(pad, from: reader)
            sessionGraph.remove(reader)
        }
    }

    func releasePad(_ pad: String) {
        if let pad = element.staticPad(pad) { element.releasePad(pad) }
    }

    /// Makes an element with these properties. Throws `allocationFailed` if there is no such element, and
    /// `processingFailed` if a property can't be set.
    static func make(
        _ factory: String, _ name: String, _ properties: [(name: String, text: String)]
    ) throws(MediaGraphError) -> Element {
        guard let element = Element(factory: factory, name: name) else { throw .allocationFailed(.init(factory)) }
        do {
            for property in properties { try element.setProperty(property.name, parsing: property.text) }
        } catch { throw .wrapping(error, name) }
        return element
    }

    /// Makes a `tee` that needs no readers.
    static func makeTee(_ name: String) throws(MediaGraphError) -> Element {
        try make("tee", name, [("allow-not-linked", "true")])
    }

    /// Makes a bin from a description whose first element has an unlinked input. Throws `invalidParameter` if the
    /// description is invalid.
    static func make(parsing description: String) throws(MediaGraphError) -> Element {
        do throws(GLibError) { return try Element(parsing: description) } catch {
            throw .invalidParameter(.init("\"\(description)\"", actual: error.message))
        }
    }

    /// Adds an element and starts it. Call this before linking it, because a stream that arrives at an element
    /// that isn't running gets FLUSHING and stops. Returns whether the element has started.
    @discardableResult
    func add(_ new: Element) -> Bool {
        graph.pipeline.add(new)
        return new.syncState()
    }

    /// Stops and removes an element.
    func remove(_ old: Element) {
        stop(old)
        graph.pipeline.remove(old)
    }

    /// Stops an element for good.
    func stop(_ old: Element) {
        // Locked, so that a pipeline that is going to PLAYING at this moment doesn't restart the element.
        old.setStateLocked(true)
        old.setState(.null)
    }
}
