import CGStreamer

/// The neighbors of a pad, with bins looked through.
extension Pad {
    /// The pad of the element at the other end of the link, with bins looked through; `nil` if a link is missing on the
    /// way.
    package var neighbor: Pad? {
        var next = peer
        while let pad = next {
            let inner = pad.innermost
            if inner.parent != nil { return inner }
            // This is the inner side of a bin's pad: continue at the outer side.
            next = inner.outside?.peer
        }
        return nil
    }

    /// The pads to which this one is linked inside of its element, or across the border of its bin: for a sink pad, the
    /// source pads by which its data leaves; for a source pad, the sink pads by which its data enters.
    package var internalLinks: [Pad] {
        collect(gst_pad_iterate_internal_links(pad), Pad.init(retaining:))
    }

    /// The pad at the end of a chain of ghost pads; the pad itself if it isn't a ghost pad or has no target.
    package var innermost: Pad {
        var pad = self
        while g_type_check_instance_is_a(pad.raw.assumingMemoryBound(to: GTypeInstance.self), gst_ghost_pad_get_type())
            != 0,
            let target = gst_ghost_pad_get_target(pad.raw.assumingMemoryBound(to: GstGhostPad.self))
        {
            pad = Pad(taking: target)
        }
        return pad
    }

    /// The ghost pad of which this pad is the inner side; `nil` for other pads.
    var outside: Pad? {
        guard
            g_type_check_instance_is_a(raw.assumingMemoryBound(to: GTypeInstance.self), gst_proxy_pad_get_type()) != 0,
            let outer = gst_proxy_pad_get_internal(raw.assumingMemoryBound(to: GstProxyPad.self))
        else { return nil }
        return Pad(taking: UnsafeMutableRawPointer(outer).assumingMemoryBound(to: GstPad.self))
    }
}
