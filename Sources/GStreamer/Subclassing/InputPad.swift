import CGStreamer

/// Who gets what comes into an element's own sink pad. Calls are on the pad's streaming thread but for `interrupt`, and for
/// flushes, which come on the thread that flushes.
///
/// `@unchecked Sendable`: it has no state of its own; a subclass says what guards its.
open class InputPadDelegate: @unchecked Sendable {
    public init() {}
    /// What can be taken, by now. Any thread.
    open var caps: Caps { Caps("ANY")! }
    /// The buffers that follow are of this format; false refuses it, and upstream stops with not-negotiated.
    open func formatChanged(_ caps: Caps) -> Bool { true }
    /// One buffer, with the running time of its timestamp.
    open func received(_ buffer: consuming Buffer, at runningTime: ClockTime?) -> FlowReturn { .ok }
    /// A buffer came whose timestamps are no times.
    open func receivedWithoutTime() -> FlowReturn { .error }
    open func reachedEndOfStream() {}
    open func flush(_ isStarting: Bool) {}
    /// `received` must return `flushing` at once, and until it is taken back: the end of data flow, and its beginning.
    open func interrupt(_ isOn: Bool) {}
}

/// A sink pad that an element's own code takes buffers from, beside whatever its base class does: nothing passes it by itself.
public final class InputPad: Sendable {
    public let pad: Pad

    /// Adds the pad of this template to the element, which owns it.
    public init?(_ name: String, on instance: ElementInstance, delegate: InputPadDelegate) {
        guard
            let template = gst_element_class_get_pad_template(
                UnsafeMutableRawPointer(instance.element.pointee.object.object.g_type_instance.g_class)
                    .assumingMemoryBound(to: GstElementClass.self), name),
            let raw = gst_pad_new_from_template(template, name)
        else { return nil }
        let input = Input(delegate)
        gst_pad_set_chain_function_full(
            raw, { pad, _, buffer in Input.of(pad!.pointee.chaindata).chain(buffer!) }, input.retained, Input.release)
        gst_pad_set_event_function_full(
            raw, { pad, _, event in Input.of(pad!.pointee.eventdata).event(event!) }, input.retained, Input.release)
        gst_pad_set_query_function_full(
            raw, { pad, parent, query in Input.of(pad!.pointee.querydata).answer(pad!, parent, query!) },
            input.retained, Input.release)
        gst_pad_set_activatemode_function_full(
            raw,
            { pad, _, mode, isActive in
                Input.of(pad!.pointee.activatemodedata).delegate.interrupt(isActive == 0)
                return mode == GST_PAD_MODE_PUSH ? 1 : 0
            }, input.retained, Input.release)
        pad = Pad(retaining: UnsafeMutableRawPointer(raw))
        gst_element_add_pad(instance.element, raw)
    }

    /// As a requested pad is handed over.
    public var requested: GhostPad { GhostPad(pad.pad) }

    /// Takes the pad from its element, when it is given back.
    public func remove() {
        guard let parent = gst_pad_get_parent_element(pad.pad) else { return }
        gst_pad_set_active(pad.pad, 0)
        gst_element_remove_pad(parent, pad.pad)
        gst_object_unref(parent)
    }
}

/// What the pad's functions lead to. The segment belongs to the streaming thread.
private final class Input {
    let delegate: InputPadDelegate
    private var segment = GstSegment()

    init(_ delegate: InputPadDelegate) {
        self.delegate = delegate
        gst_segment_init(&segment, GST_FORMAT_TIME)
    }

    var retained: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }
    static let release: GDestroyNotify = { Unmanaged<Input>.fromOpaque($0!).release() }

    static func of(_ context: UnsafeMutableRawPointer?) -> Input {
        Unmanaged<Input>.fromOpaque(context!).takeUnretainedValue()
    }

    func chain(_ raw: UnsafeMutablePointer<GstBuffer>) -> GstFlowReturn {
        guard segment.format == GST_FORMAT_TIME else {
            gst_buffer_unref(raw)
            return delegate.receivedWithoutTime().raw
        }
        let time = ClockTime(raw: gst_segment_to_running_time(&segment, GST_FORMAT_TIME, raw.pointee.pts))
        return delegate.received(Buffer(taking: raw), at: time).raw
    }

    func event(_ event: UnsafeMutablePointer<GstEvent>) -> gboolean {
        defer { gst_event_unref(event) }
        switch event.pointee.type {
        case GST_EVENT_CAPS:
            var caps: UnsafeMutablePointer<GstCaps>?
            gst_event_parse_caps(event, &caps)
            return caps.map { delegate.formatChanged(Caps(retaining: $0)) } == true ? 1 : 0
        case GST_EVENT_SEGMENT: gst_event_copy_segment(event, &segment)
        case GST_EVENT_EOS: delegate.reachedEndOfStream()
        case GST_EVENT_FLUSH_START: delegate.flush(true)
        case GST_EVENT_FLUSH_STOP:
            gst_segment_init(&segment, GST_FORMAT_TIME)
            delegate.flush(false)
        default: break
        }
        return 1
    }

    func answer(
        _ pad: UnsafeMutablePointer<GstPad>, _ parent: UnsafeMutablePointer<GstObject>?,
        _ query: UnsafeMutablePointer<GstQuery>
    ) -> gboolean {
        switch query.pointee.type {
        case GST_QUERY_CAPS:
            var filter: UnsafeMutablePointer<GstCaps>?
            gst_query_parse_caps(query, &filter)
            let caps = filter.map { Caps(retaining: $0).intersection(delegate.caps) } ?? delegate.caps
            gst_query_set_caps_result(query, caps.raw)
            return 1
        case GST_QUERY_ACCEPT_CAPS: return gst_pad_query_default(pad, parent, query)
        // What is upstream ends here: nobody downstream knows of it.
        default: return 0
        }
    }
}
