import CGStreamer

/// An element that may be gone: for whoever is held by a child of it.
public final class WeakElement: @unchecked Sendable {
    // `@unchecked Sendable`: GWeakRef is safe from any thread; its storage is allocated once and cleared in deinit.
    private let reference: UnsafeMutablePointer<GWeakRef>

    public init(_ instance: ElementInstance) {
        reference = .allocate(capacity: 1)
        g_weak_ref_init(reference, instance.element)
    }

    deinit {
        g_weak_ref_clear(reference)
        reference.deallocate()
    }

    /// The element, while it lives.
    public var element: Element? { g_weak_ref_get(reference).map { Element(adopting: UnsafeMutableRawPointer($0)) } }

    public var name: String { element?.name ?? "" }

    /// Posts an element message; nothing when the element is gone.
    public func post(_ structure: Structure) { element?.post(structure) }

    /// Posts an error on the bus; nothing when the element is gone.
    public func postError(_ problem: ElementProblem, _ text: String, debug: String = "") {
        element?.postError(problem, text, debug: debug)
    }

    /// Posts a warning on the bus; nothing when the element is gone.
    public func postWarning(_ problem: ElementProblem, _ text: String) { element?.postWarning(problem, text) }
}
