import CGStreamer

extension Pipeline {
    /// Calls `body` with each element of the pipeline, at any depth, and from then on with each added element, on the
    /// thread that adds it (`deep-element-added`). Call it before the pipeline starts. The pipeline retains `body`.
    public func onEachElement(_ body: @escaping @Sendable (Element) -> Void) {
        for element in allElements { body(element) }
        typealias Added =
            @convention(c) (
                UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, gpointer?
            ) -> Void
        let added: Added = { _, _, element, watch in
            Unmanaged<ElementWatch>.fromOpaque(watch!)._withUnsafeGuaranteedRef {
                $0.body(Element(retaining: element!))
            }
        }
        g_signal_connect_data(
            raw, "deep-element-added", unsafeBitCast(added, to: GCallback.self),
            Unmanaged.passRetained(ElementWatch(body)).toOpaque(),
            { watch, _ in Unmanaged<ElementWatch>.fromOpaque(watch!).release() }, GConnectFlags(rawValue: 0))
    }
}

private final class ElementWatch: Sendable {
    let body: @Sendable (Element) -> Void
    init(_ body: @escaping @Sendable (Element) -> Void) { self.body = body }
}

extension Element {
    /// Whether the element is a bin (`GstBin`).
    public var isBin: Bool {
        g_type_check_instance_is_a(raw.assumingMemoryBound(to: GTypeInstance.self), gst_bin_get_type()) != 0
    }

    /// The sources that a bin contains directly, and its bins that contain sources. Empty if the element isn't a bin.
    public var sources: [Element] {
        guard isBin else { return [] }
        return collect(gst_bin_iterate_sources(raw.assumingMemoryBound(to: GstBin.self)), Element.init(retaining:))
    }

    /// The element, followed by the elements that it contains at any depth if it is a bin, in no defined order.
    package var withContents: [Element] {
        guard isBin else { return [self] }
        let bin = raw.assumingMemoryBound(to: GstBin.self)
        return [self] + collect(gst_bin_iterate_recurse(bin), Element.init(retaining:))
    }
}

/// Calls `make` for each object of an iterator and returns the results. Frees the iterator.
func collect<Object>(
    _ iterator: UnsafeMutablePointer<GstIterator>?, _ make: (UnsafeMutableRawPointer) -> Object
) -> [Object] {
    guard let iterator else { return [] }
    defer { gst_iterator_free(iterator) }
    var result: [Object] = []
    var value = GValue()
    loop: while true {
        switch gst_iterator_next(iterator, &value) {
        case GST_ITERATOR_OK:
            if let object = g_value_get_object(&value) { result.append(make(object)) }
            g_value_reset(&value)
        case GST_ITERATOR_RESYNC:
            result.removeAll()
            gst_iterator_resync(iterator)
        default: break loop
        }
    }
    if value.g_type != 0 { g_value_unset(&value) }
    return result
}
