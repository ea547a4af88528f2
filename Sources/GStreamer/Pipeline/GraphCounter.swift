import CGStreamer
import Synchronization

/// Counts what happens anywhere in a graph, for all elements of that graph and for no others: the count is on the outermost bin,
/// and gone with it. Any thread.
public final class GraphCounter: Sendable {
    private let quark: GQuark
    /// One increment at a time.
    private let turn = Mutex(())

    /// - Parameter name: what is counted, in a word.
    public init(_ name: String) { quark = g_quark_from_string("mediagraph-count-\(name)") }

    public func increment(around element: Element) {
        turn.withLock { _ in
            let graph = object(element.outermost)
            g_object_set_qdata(graph, quark, UnsafeMutableRawPointer(bitPattern: count(graph) + 1))
        }
    }

    public func count(around element: Element) -> Int { count(object(element.outermost)) }

    private func object(_ element: Element) -> UnsafeMutablePointer<GObject> {
        element.raw.assumingMemoryBound(to: GObject.self)
    }

    private func count(_ graph: UnsafeMutablePointer<GObject>) -> Int {
        Int(bitPattern: g_object_get_qdata(graph, quark))
    }
}

extension Element {
    /// The bin that is in no other, as a pipeline; itself where it is in none.
    fileprivate var outermost: Element {
        var element = self
        while let parent = element.parent { element = parent }
        return element
    }
}
