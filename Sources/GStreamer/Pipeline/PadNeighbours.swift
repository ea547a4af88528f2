import CGStreamer

/// What a pad is joined to, as if there were no bins.
extension Pad {
    /// The pad of the element at the other end, looking through bins; `nil` if a link is missing on the way.
    public var neighbour: Pad? {
        var next = peer
        while let pad = next {
            let inner = pad.innermost
            if inner.parent != nil { return inner }
            // The inner side of a bin's pad: on with what is linked to the outer side.
            next = inner.outside?.peer
        }
        return nil
    }

    /// The pads on the other side of the element, or of the bin's border: for a sink pad the source pads to which its data goes,
    /// for a source pad the sink pads from which its data comes.
    public var internalLinks: [Pad] {
        guard let iterator = gst_pad_iterate_internal_links(pad) else { return [] }
        defer { gst_iterator_free(iterator) }
        var links: [Pad] = []
        var value = GValue()
        loop: while true {
            switch gst_iterator_next(iterator, &value) {
            case GST_ITERATOR_OK:
                if let link = g_value_get_object(&value) {
                    links.append(Pad(retaining: link))
                }
                g_value_reset(&value)
            case GST_ITERATOR_RESYNC:
                links.removeAll()
                gst_iterator_resync(iterator)
            default: break loop
            }
        }
        if value.g_type != 0 { g_value_unset(&value) }
        return links
    }

    /// The child's pad that this one stands for, in however many bins; itself where it stands for none.
    var innermost: Pad {
        var pad = self
        while g_type_check_instance_is_a(pad.raw.assumingMemoryBound(to: GTypeInstance.self), gst_ghost_pad_get_type())
            != 0,
            let target = gst_ghost_pad_get_target(pad.raw.assumingMemoryBound(to: GstGhostPad.self))
        {
            pad = Pad(taking: target)
        }
        return pad
    }

    /// The bin's pad of which this one is the inner side.
    var outside: Pad? {
        guard
            g_type_check_instance_is_a(raw.assumingMemoryBound(to: GTypeInstance.self), gst_proxy_pad_get_type()) != 0,
            let outer = gst_proxy_pad_get_internal(raw.assumingMemoryBound(to: GstProxyPad.self))
        else { return nil }
        return Pad(taking: UnsafeMutableRawPointer(outer).assumingMemoryBound(to: GstPad.self))
    }
}
