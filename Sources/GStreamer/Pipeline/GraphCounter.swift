import CGStreamer
import Synchronization

/// Counts events of a graph, shared by all elements of that graph. The count is stored on the outermost bin and freed
/// with it. Thread-safe.
package final class GraphCounter: Sendable {
    private let quark: GQuark
    /// Serializes the increments of all counters, because counters with the same name share their counts.
    private static let incrementLock = Mutex(())

    /// Creates a counter.
    ///
    /// - Parameter name: a word for the counted events. Counters with the same name share their counts.
    package init(_ name: String) { quark = g_quark_from_string("mediagraph-count-\(name)") }

    /// Adds 1 to the count of the graph that contains `element`.
    package func increment(around element: Element) {
        Self.incrementLock.withLock { _ in
            let graph = object(element.outermost)
            g_object_set_qdata(graph, quark, UnsafeMutableRawPointer(bitPattern: count(graph) + 1))
        }
    }

    /// Returns the count of the graph that contains `element`.
    package func count(around element: Element) -> Int { count(object(element.outermost)) }

    private func object(_ element: Element) -> UnsafeMutablePointer<GObject> {
        element.raw.assumingMemoryBound(to: GObject.self)
    }

    private func count(_ graph: UnsafeMutablePointer<GObject>) -> Int {
        Int(bitPattern: g_object_get_qdata(graph, quark))
    }
}

extension Element {
    /// The outermost bin that contains the element, usually the pipeline; the element itself if there is none.
    package var outermost: Element {
        var element = self
        while let parent = element.parent { element = parent }
        return element
    }
}
