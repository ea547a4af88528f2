import GStreamer
import MediaGraphCore

/// A session's element in its graph, and what comes to it and goes while it runs. Elements are put in and taken out on the
/// graph's own queue, one after the other, where changes of state happen too: what has been taken out is gone before its
/// pad is asked for again.
struct SessionPlace: Sendable {
    let graph: Graph
    let element: Element
    /// In front of the other users' video; `nil` where nobody observes.
    var observers: RemoteObservers? = nil

    var name: String { element.name }

    func enqueue(_ body: @escaping @Sendable (SessionPlace) -> Void) {
        graph.enqueue { [weak graph, element, observers] in
            guard let graph else { return }
            body(SessionPlace(graph: graph, element: element, observers: observers))
        }
    }

    /// From the session's `pad`, or from behind its observer, to the other's, which is asked for where it isn't there. On the
    /// graph's queue.
    func link(_ pad: String, to next: Element, _ nextPad: String) {
        guard let outlet = observers?.outlet(pad) else { return linkDirectly(pad, to: next, nextPad) }
        guard let sink = next.staticPad(nextPad) ?? next.requestPad(nextPad), outlet.link(to: sink) else {
            return warn(pad)
        }
    }

    func linkDirectly(_ pad: String, to next: Element, _ nextPad: String) {
        guard let source = element.requestPad(pad) else { return warn(pad) }
        guard let sink = next.staticPad(nextPad) ?? next.requestPad(nextPad), source.link(to: sink) else {
            element.releasePad(source)
            return warn(pad)
        }
    }

    /// The other way round: what is sent into the session.
    func link(_ source: Pad?, _ pad: String) {
        guard let source, let sink = element.requestPad(pad) else { return warn(pad) }
        guard source.link(to: sink) else {
            element.releasePad(sink)
            return warn(pad)
        }
    }

    /// From one element to another that was made of a description. On the graph's queue.
    func link(_ source: Pad?, to next: Element) {
        guard let source, let sink = next.staticPad("sink"), source.link(to: sink) else { return warn(next.name) }
    }

    func warn(_ pad: String) { element.postWarning(.settings, "\(name): \(pad) couldn't be linked") }

    /// Takes the session's `pad` away, and its link with it. What is on the other side goes on without.
    func unlink(_ pad: String) {
        if observers?.release(pad, self) != true { releasePad(pad) }
    }

    func releasePad(_ pad: String) {
        if let pad = element.staticPad(pad) { element.releasePad(pad) }
    }

    /// An element to link, with properties as a description has them.
    static func make(
        _ factory: String, _ name: String, _ properties: [(name: String, text: String)]
    ) throws(MediaGraphError) -> Element {
        guard let element = Element(factory: factory, name: name) else { throw .allocationFailed(.init(name)) }
        do {
            for property in properties { try element.setProperty(property.name, parsing: property.text) }
        } catch { throw .wrapping(error, name) }
        return element
    }

    /// Elements as one, from a description that takes what is linked to it. Throws `invalidParameter` where it doesn't hold.
    static func make(parsing description: String) throws(MediaGraphError) -> Element {
        do throws(GLibError) { return try Element(parsing: description) } catch {
            throw .invalidParameter(.init("\"\(description)\"", actual: error.message))
        }
    }

    /// What reads, before it is linked: a stream that finds an element that doesn't run yet takes that for a stop.
    func add(_ new: Element) {
        graph.pipeline.add(new)
        new.syncState()
    }

    func remove(_ old: Element) {
        // A pipeline that is just going on to PLAYING would take it along.
        old.setLocksState(true)
        old.setState(.null)
        graph.pipeline.remove(old)
    }
}
