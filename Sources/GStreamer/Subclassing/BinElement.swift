import CGStreamer

/// A node that is made of other elements: a `GstBin` subclass.
open class BinElement: ElementImplementation, ParentClass, @unchecked Sendable {
    class var parentType: GType { gst_bin_get_type() }

    class func installClassFunctions(_ klass: UnsafeMutableRawPointer) {
        if !lendsClock {
            klass.assumingMemoryBound(to: GstElementClass.self).pointee.provide_clock = { _ in nil }
        }
        if hearsSentEvents { installSendEvent(klass) }
        guard watchesMessages || speaksForChildren else { return }
        klass.assumingMemoryBound(to: GstBinClass.self).pointee.handle_message = { bin, message in
            let raw = UnsafeMutableRawPointer(bin!)
            var message = message
            // Children post while the bin is being made.
            if let node = ElementClass.madeImplementation(of: raw) as? BinElement {
                if type(of: node).watchesMessages, !node.childPosted(Message(message!)) {
                    gst_message_unref(message)
                    return
                }
                if type(of: node).speaksForChildren { message = node.saidByBin(message!) }
            }
            let parent = ElementClass.parentClass(of: ElementInstance(raw)).assumingMemoryBound(to: GstBinClass.self)
            parent.pointee.handle_message(bin, message)
        }
    }

    private class func installSendEvent(_ klass: UnsafeMutableRawPointer) {
        klass.assumingMemoryBound(to: GstElementClass.self).pointee.send_event = { bin, event in
            let raw = UnsafeMutableRawPointer(bin!)
            if let node = ElementClass.madeImplementation(of: raw) as? BinElement {
                switch event!.pointee.type {
                case GST_EVENT_EOS where node.endOfStreamRequested():
                    gst_event_unref(event)
                    return 1
                case GST_EVENT_LATENCY: node.latencyDecided()
                default: break
                }
            }
            return ElementClass.parentClass(of: ElementInstance(raw)).assumingMemoryBound(to: GstElementClass.self)
                .pointee.send_event(bin, event)
        }
    }

    /// Whether `endOfStreamRequested` and `latencyDecided` are called.
    open class var hearsSentEvents: Bool { false }

    /// The graph is asked to end, before the bin's own sources are. True when the subclass ends them itself; false leaves it to
    /// the base class, which asks them all once more where one comes or goes meanwhile. Any thread.
    open func endOfStreamRequested() -> Bool { false }

    /// The latency of the whole graph has been worked out, anew perhaps. Any thread; before the bin's own sinks hear of it.
    open func latencyDecided() {}

    /// Whether `childPosted` is called.
    open class var watchesMessages: Bool { false }

    /// Whether errors and warnings of children are the bin's own, for one whose children are nobody's business: descriptions
    /// don't name them.
    open class var speaksForChildren: Bool { false }

    private func saidByBin(_ message: UnsafeMutablePointer<GstMessage>) -> UnsafeMutablePointer<GstMessage> {
        guard message.pointee.type == GST_MESSAGE_ERROR || message.pointee.type == GST_MESSAGE_WARNING else {
            return message
        }
        let message = UnsafeMutableRawPointer(message).assumingMemoryBound(to: GstMiniObject.self)
        let writable = UnsafeMutableRawPointer(gst_mini_object_make_writable(message)!)
            .assumingMemoryBound(to: GstMessage.self)
        let bin = UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstObject.self)
        gst_object_replace(&writable.pointee.src, bin)
        return writable
    }

    /// A child has posted a message, on the thread that did. The bin deals with it afterwards, as bins do; false keeps it from
    /// going any further.
    open func childPosted(_ message: Message) -> Bool { true }

    /// Whether the graph may go by a clock of the bin's children.
    open class var lendsClock: Bool { true }

    /// Adds a child; the bin owns it.
    public func add(_ child: Element) { instance.add(child) }

    /// Takes a child out and stops it; or leaves that to whoever changes its state now, and may hold that for long.
    public func remove(_ child: Element, stops: Bool = true) {
        // A bin that is just changing its children's states would bring it back.
        child.setLocksState(true)
        let bin = UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstBin.self)
        gst_bin_remove(bin, child.element)
        if stops { child.setState(.null) }
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

    /// A sink pad of the bin's own that leads nowhere yet, by the pad template of that name. `prepare` has it before anybody
    /// else can.
    public func addSinkPad(_ name: String, template: String, _ prepare: (GhostPad) -> Void) -> GhostPad {
        let ghost = gst_ghost_pad_new_no_target_from_template(name, instance.padTemplate(template))!
        let pad = GhostPad(ghost)
        prepare(pad)
        // A running element's pads take data at once.
        if isRunning { gst_pad_set_active(ghost, 1) }
        gst_element_add_pad(instance.element, ghost)
        return pad
    }

    /// Shows a child's pad as the bin's own, by the pad template of that name.
    public func addGhostPad(_ name: String, target: Pad) -> GhostPad { instance.addGhostPad(name, target: target) }

    /// The same by a template whose name has a placeholder, such as `video_%s`.
    public func addGhostPad(_ name: String, template: String, target: Pad) -> GhostPad {
        instance.addGhostPad(name, template: template, target: target)
    }
}

extension ElementInstance {
    fileprivate func padTemplate(_ name: String) -> UnsafeMutablePointer<GstPadTemplate>? {
        gst_element_class_get_pad_template(element.elementClass, name)
    }

    /// Adds a child to a bin that is being made; for a subclass whose stored properties need that first.
    public func add(_ child: Element) {
        gst_bin_add(UnsafeMutableRawPointer(element).assumingMemoryBound(to: GstBin.self), child.element)
    }

    public func addGhostPad(_ name: String, target: Pad) -> GhostPad {
        addGhostPad(name, template: name, target: target)
    }

    /// One that stands for no child yet, by the pad template of its name.
    public func addGhostPad(_ name: String) -> GhostPad {
        let ghost = gst_ghost_pad_new_no_target_from_template(name, padTemplate(name))!
        gst_element_add_pad(element, ghost)
        return GhostPad(ghost)
    }

    func addGhostPad(_ name: String, template: String, target: Pad) -> GhostPad {
        let ghost = gst_ghost_pad_new_from_template(name, target.pad, padTemplate(template))!
        // A pad that comes while data flows must be active before it is there.
        if element.pointee.current_state.rawValue >= GST_STATE_PAUSED.rawValue { gst_pad_set_active(ghost, 1) }
        gst_element_add_pad(element, ghost)
        return GhostPad(ghost)
    }
}
