import CGStreamer

/// A weak reference to an element. For objects that the element owns, because a strong reference would be a cycle.
package final class WeakElement: @unchecked Sendable {
    // `@unchecked Sendable`: a `GWeakRef` can be used from any thread; it is allocated in `init` and freed in `deinit`.
    private let reference: UnsafeMutablePointer<GWeakRef>

    /// Creates a reference to the element.
    package init(_ instance: ElementInstance) {
        reference = .allocate(capacity: 1)
        g_weak_ref_init(reference, instance.element)
    }

    deinit {
        g_weak_ref_clear(reference)
        reference.deallocate()
    }

    /// The element; `nil` after it has been freed.
    package var element: Element? { g_weak_ref_get(reference).map { Element(adopting: UnsafeMutableRawPointer($0)) } }

    /// The element's name; empty after the element has been freed.
    package var name: String { element?.name ?? "" }

    /// Posts an element message on the bus. Does nothing after the element has been freed.
    package func post(_ structure: Structure) { element?.post(structure) }

    /// Posts an error on the bus. Does nothing after the element has been freed.
    package func postError(_ problem: ElementProblem, _ text: String, debug: String = "") {
        element?.postError(problem, text, debug: debug)
    }

    /// Posts a warning on the bus. Does nothing after the element has been freed.
    package func postWarning(_ problem: ElementProblem, _ text: String) { element?.postWarning(problem, text) }
}
