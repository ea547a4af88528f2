import GStreamer
import Synchronization

/// One of a share's two streams: the source inside the node that sends it, and the node's pad that it leaves by.
///
/// It takes part where somebody sends and somebody is linked to it; else its source stays in NULL, and costs nothing: so a
/// share of sound alone has no picture that would have to go somewhere.
final class ShareStream: Sendable {
    let source: Element
    private let pad = Mutex<GhostPad?>(nil)
    /// From Swift, or another copy of the code.
    private let isAttached = Atomic<Bool>(false)

    /// The bin never moves it: it may be paused while the bin plays.
    init(_ implementation: ElementImplementation.Type, _ name: String, in bin: ElementInstance) {
        do { source = try ElementClass.make(implementation, name: name) } catch {
            preconditionFailure("a part of this very library can't be made: \(error)")
        }
        source.setLocksState(true)
        bin.add(source)
    }

    /// The node's pad, once it is there.
    func setPad(_ pad: GhostPad?) { self.pad.withLock { $0 = pad } }

    var sourcePad: Pad { source.staticPad("src")! }

    private var isLinked: Bool { pad.withLock { $0 }?.pad.isLinked ?? false }

    var hasSource: Bool {
        isAttached.load(ordering: .relaxed) || (try? source.property("handler", as: String.self))?.isEmpty == false
    }

    /// Something is sent that goes nowhere.
    var isLost: Bool { hasSource && !isLinked }

    /// In NULL.
    func attached(_ isAttached: Bool) { self.isAttached.store(isAttached, ordering: .relaxed) }

    /// One that nobody sends, or not while it is paused, would never end, and its sink, and the graph with it, wait for that.
    func endIfIdle(isPaused: Bool) {
        guard source.state == .null || isPaused, let pad = pad.withLock({ $0 }), pad.pad.isLinked else { return }
        pad.endEmptyStream()
    }

    /// False when it can't. Who takes part is looked at on the way out of NULL.
    func go(to state: State) -> Bool {
        if source.state == .null, state > .null, !hasSource || !isLinked { return true }
        return source.setState(state) != .failure
    }
}
