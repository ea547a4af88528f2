import CGStreamer

extension Element {
    /// Whether it holds other elements (`GstBin`).
    public var isBin: Bool {
        g_type_check_instance_is_a(raw.assumingMemoryBound(to: GTypeInstance.self), gst_bin_get_type()) != 0
    }

    /// A bin's sources, and the bins in it that hold some; none for any other element.
    public var sources: [Element] {
        guard isBin else { return [] }
        return collect(gst_bin_iterate_sources(raw.assumingMemoryBound(to: GstBin.self)))
    }

    func collect(_ iterator: UnsafeMutablePointer<GstIterator>?) -> [Element] {
        guard let iterator else { return [] }
        defer { gst_iterator_free(iterator) }
        var result: [Element] = []
        var value = GValue()
        loop: while true {
            switch gst_iterator_next(iterator, &value) {
            case GST_ITERATOR_OK:
                if let object = g_value_get_object(&value) { result.append(Element(retaining: object)) }
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
}
