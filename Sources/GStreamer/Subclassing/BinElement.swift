import CGStreamer

/// A node that consists of other elements: a subclass of `GstBin`.
open class BinElement: ElementImplementation, ParentClass, @unchecked Sendable {
    class var parentType: GType { gst_bin_get_type() }

    class func installClassFunctions(_ klass: UnsafeMutableRawPointer) {
        if !providesClock {
            klass.assumingMemoryBound(to: GstElementClass.self).pointee.provide_clock = { _ in nil }
        }
        if handlesSentEvents { installSendEvent(klass) }
        guard observesChildMessages || ownsChildErrors else { return }
        klass.assumingMemoryBound(to: GstBinClass.self).pointee.handle_message = { bin, message in
            let raw = UnsafeMutableRawPointer(bin!)
            var message = message
            // Children may post messages before the bin's implementation exists.
            if let node = ElementClass.implementationIfInitialized(of: raw) as? BinElement {
                if type(of: node).observesChildMessages, !node.childPosted(Message(message!)) {
                    gst_message_unref(message)
                    return
                }
                if type(of: node).ownsChildErrors { message = node.attributedToBin(message!) }
            }
            let parent = ElementClass.parentClass(of: ElementInstance(raw)).assumingMemoryBound(to: GstBinClass.self)
            parent.pointee.handle_message(bin, message)
        }
    }

    private class func installSendEvent(_ klass: UnsafeMutableRawPointer) {
        klass.assumingMemoryBound(to: GstElementClass.self).pointee.send_event = { bin, event in
            let raw = UnsafeMutableRawPointer(bin!)
            if let node = ElementClass.implementationIfInitialized(of: raw) as? BinElement {
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

    /// Whether `endOfStreamRequested` and `latencyDecided` are called. False by default.
    open class var handlesSentEvents: Bool { false }

    /// Called when an EOS event is sent to the bin, usually to end the whole graph, before the bin's sources receive
    /// it. May be called from any thread.
    ///
    /// Returns whether the subclass ends its sources itself. If false, the default, the base class sends EOS to all
    /// sources, and once more to all of them if a child is added or removed meanwhile.
    open func endOfStreamRequested() -> Bool { false }

    /// Called when the pipeline has computed its latency, for the first time or again, before the bin's sinks receive
    /// the LATENCY event. May be called from any thread. Does nothing by default.
    open func latencyDecided() {}

    /// Whether `childPosted` is called. False by default.
    open class var observesChildMessages: Bool { false }

    /// Whether errors and warnings of children are posted in the name of the bin, for children that descriptions don't
    /// name. False by default.
    open class var ownsChildErrors: Bool { false }

    /// Returns the message with the bin as its source if it is an error or a warning.
    private func attributedToBin(_ message: UnsafeMutablePointer<GstMessage>) -> UnsafeMutablePointer<GstMessage> {
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

    /// Called when a child posts a message, on the posting thread. Returns whether the bin handles the message as
    /// usual, which is the default; if false, the message is dropped.
    open func childPosted(_ message: Message) -> Bool { true }

    /// Whether the bin offers its children's clocks to the pipeline. True by default.
    open class var providesClock: Bool { true }

    /// Adds a child, which the bin then owns.
    public func add(_ child: Element) { instance.add(child) }

    /// Removes a child. If `stops`, sets it to NULL afterwards, which waits while another thread changes the child's
    /// state. With `stops: false`, the thread that changes the
    /// child's state must stop it.
    public func remove(_ child: Element, stops: Bool = true) {
        // Otherwise a state change of the bin on another thread would start the child again.
        child.setStateLocked(true)
        let bin = UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstBin.self)
        gst_bin_remove(bin, child.element)
        if stops { child.setState(.null) }
    }

    /// Deactivates and removes one of the bin's pads.
    package func remove(_ pad: GhostPad) {
        gst_pad_set_active(pad.raw, 0)
        gst_element_remove_pad(instance.element, pad.raw)
    }

    /// Removes a source pad while data flows. A buffer that is being pushed still passes the pad; a deactivated pad
    /// would refuse the buffer and thereby stop the stream. Later buffers find the child's pad unlinked.
    package func removeWhileRunning(_ pad: GhostPad) {
        pad.setTarget(nil)
        gst_element_remove_pad(instance.element, pad.raw)
    }

    /// Adds a ghost sink pad without a target, from the pad template `template`. `prepare` is called with the pad
    /// before other code can see it.
    package func addSinkPad(_ name: String, template: String, _ prepare: (GhostPad) -> Void) -> GhostPad {
        let ghost = gst_ghost_pad_new_no_target_from_template(name, instance.padTemplate(template))!
        let pad = GhostPad(ghost)
        prepare(pad)
        // The pads of a running element must be active before data arrives.
        if isRunning { gst_pad_set_active(ghost, 1) }
        gst_element_add_pad(instance.element, ghost)
        return pad
    }

    /// Adds a ghost pad for a child's pad, from the pad template `name`.
    package func addGhostPad(_ name: String, target: Pad) -> GhostPad { instance.addGhostPad(name, target: target) }

    /// Adds a ghost pad for a child's pad, from a pad template with a placeholder in its name, such as `video_%s`.
    package func addGhostPad(_ name: String, template: String, target: Pad) -> GhostPad {
        instance.addGhostPad(name, template: template, target: target)
    }
}

extension ElementInstance {
    fileprivate func padTemplate(_ name: String) -> UnsafeMutablePointer<GstPadTemplate>? {
        gst_element_class_get_pad_template(element.elementClass, name)
    }

    /// Adds a child to a bin whose implementation is being initialized, for subclasses that need the child in the bin
    /// before all their stored properties are set.
    public func add(_ child: Element) {
        gst_bin_add(UnsafeMutableRawPointer(element).assumingMemoryBound(to: GstBin.self), child.element)
    }

    /// Adds a ghost pad for a child's pad, from the pad template `name`.
    package func addGhostPad(_ name: String, target: Pad) -> GhostPad {
        addGhostPad(name, template: name, target: target)
    }

    /// Adds a ghost pad without a target, from the pad template `name`.
    package func addGhostPad(_ name: String) -> GhostPad {
        let ghost = gst_ghost_pad_new_no_target_from_template(name, padTemplate(name))!
        gst_element_add_pad(element, ghost)
        return GhostPad(ghost)
    }

    func addGhostPad(_ name: String, template: String, target: Pad) -> GhostPad {
        let ghost = gst_ghost_pad_new_from_template(name, target.pad, padTemplate(template))!
        // A pad that is added while data flows must be active before other elements see it.
        if element.pointee.current_state.rawValue >= GST_STATE_PAUSED.rawValue { gst_pad_set_active(ghost, 1) }
        gst_element_add_pad(element, ghost)
        return GhostPad(ghost)
    }
}
