import GStreamer
import Synchronization

/// An element that a `ShareStream` uses as its source.
protocol SourceElement: ElementImplementation {
    /// Detaches the source without destroying it. The element is in NULL.
    func returnSource()
}

/// One of a share's two streams: the source element inside the node, and the node's pad for the stream.
///
/// The source element leaves NULL only if it has a source and the pad is linked. So a share of sound alone needs no
/// sink for video, and an unused stream costs nothing.
final class ShareStream: Sendable {
    let source: Element
    private let pad = Mutex<GhostPad?>(nil)
    /// Whether a source is attached from Swift, or from another copy of this code.
    private let isAttached = Atomic<Bool>(false)

    /// Makes the source element and adds it to the bin. The element's state is locked, because the stream may be paused
    /// while the bin is in PLAYING.
    init(_ implementation: ElementImplementation.Type, _ name: String, in bin: ElementInstance) {
        do { source = try ElementClass.make(implementation, name: name) } catch {
            preconditionFailure("can't create the element \(name) of this library: \(error)")
        }
        source.setStateLocked(true)
        bin.add(source)
    }

    /// Sets the node's pad for the stream, or removes it with `nil`.
    func setPad(_ pad: GhostPad?) { self.pad.withLock { $0 = pad } }

    var sourcePad: Pad { source.staticPad("src")! }

    private var isLinked: Bool { pad.withLock { $0 }?.pad.isLinked ?? false }

    /// Whether a source is attached or `handler` names one.
    var hasSource: Bool {
        isAttached.load(ordering: .relaxed) || (try? source.property("handler", as: String.self))?.isEmpty == false
    }

    /// Whether the stream has a source but isn't linked.
    var isUnlinkedSource: Bool { hasSource && !isLinked }

    /// Records that a source was attached or detached. Call it while the stream is in NULL.
    func attached(_ isAttached: Bool) { self.isAttached.store(isAttached, ordering: .relaxed) }

    /// Detaches the source without destroying it, so that the caller who attached it owns it again. Call it while the
    /// stream is in NULL.
    func returnSource() {
        let element = ElementClass.implementation(of: source.element, as: ElementImplementation.self)
        (element as? any SourceElement)?.returnSource()
        attached(false)
    }

    /// Sends EOS if the stream is linked, but has no source or is paused. Such a stream would never end, and its sink
    /// and the graph would wait for the end.
    func endIfIdle(isPaused: Bool) {
        guard source.state == .null || isPaused, let pad = pad.withLock({ $0 }), pad.pad.isLinked else { return }
        pad.endEmptyStream()
    }

    /// Changes the source element's state; returns false if that fails. An element in NULL stays there, which counts as
    /// success, if it has no source or isn't linked.
    func changeState(to state: State) -> Bool {
        if source.state == .null, state > .null, !hasSource || !isLinked { return true }
        return source.setState(state) != .failure
    }
}
