import CGStreamer

/// A node that is made of other elements: a `GstBin` subclass.
open class BinElement: ElementImplementation, ParentClass, @unchecked Sendable {
    class var parentType: GType { gst_bin_get_type() }

    class func installClassFunctions(_ klass: UnsafeMutableRawPointer) {}

    /// Adds a child; the bin owns it.
    public func add(_ child: Element) { instance.add(child) }

    /// Takes a child out and stops it.
    public func remove(_ child: Element) {
        let bin = UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstBin.self)
        gst_bin_remove(bin, child.element)
        child.setState(.null)
    }

    /// Takes a pad of the bin's own away.
    public func remove(_ pad: GhostPad) {
        gst_pad_set_active(pad.raw, 0)
        gst_element_remove_pad(instance.element, pad.raw)
    }

    /// Takes a source pad away while data flows: what is under way gets through, where a pad that isn't active would refuse
    /// it, and with it the stream. What comes later isn't linked.
    public func removeWhileRunning(_ pad: GhostPad) {
        pad.setTarget(nil)
        gst_element_remove_pad(instance.element, pad.raw)
    }

    /// Shows a child's pad as the bin's own, by the pad template of that name.
    public func addGhostPad(_ name: String, target: Pad) -> GhostPad { instance.addGhostPad(name, target: target) }

    /// The same by a template whose name has a placeholder, such as `video_%s`.
    public func addGhostPad(_ name: String, template: String, target: Pad) -> GhostPad {
        instance.addGhostPad(name, template: template, target: target)
    }
}

extension ElementInstance {
    /// Adds a child to a bin that is being made; for a subclass whose stored properties need that first.
    public func add(_ child: Element) {
        gst_bin_add(UnsafeMutableRawPointer(element).assumingMemoryBound(to: GstBin.self), child.element)
    }

    public func addGhostPad(_ name: String, target: Pad) -> GhostPad {
        addGhostPad(name, template: name, target: target)
    }

    func addGhostPad(_ name: String, template: String, target: Pad) -> GhostPad {
        let klass = UnsafeMutableRawPointer(element.pointee.object.object.g_type_instance.g_class!)
            .assumingMemoryBound(to: GstElementClass.self)
        let template = gst_element_class_get_pad_template(klass, template)
        let ghost = gst_ghost_pad_new_from_template(name, target.pad, template)!
        // A pad that comes while data flows must be active before it is there.
        if element.pointee.current_state.rawValue >= GST_STATE_PAUSED.rawValue { gst_pad_set_active(ghost, 1) }
        gst_element_add_pad(element, ghost)
        return GhostPad(ghost)
    }
}
