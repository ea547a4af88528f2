import CGStreamer

/// Receives the buffers and events of an `InputPad`. The methods are called on the pad's streaming thread, unless their
/// documentation says otherwise.
///
/// `@unchecked Sendable`: this class has no state; a subclass documents how it protects its own.
open class InputPadDelegate: @unchecked Sendable {
    /// Creates a delegate.
    public init() {}

    /// The caps that the pad accepts at the moment; by default `ANY`. May be called from any thread.
    open var caps: Caps { Caps("ANY")! }

    /// Called with the caps of the following buffers. Returns whether they are accepted; if false, upstream's stream
    /// fails with `notNegotiated`. Accepts all caps by default.
    open func formatChanged(_ caps: Caps) -> Bool { true }

    /// Called with a buffer and the running time of its timestamp, which is `nil` if the buffer has no timestamp or is
    /// outside the segment. Returns what upstream gets as the result of its push; anything but `ok` usually stops the
    /// stream. By default, discards the buffer and returns `ok`.
    open func received(_ buffer: consuming Buffer, at runningTime: ClockTime?) -> FlowReturn { .ok }

    /// Called instead of `received` if the segment isn't in time format; the buffer is discarded. Returns what upstream
    /// gets as the result of its push, by default `error`.
    open func receivedWithoutTime() -> FlowReturn { .error }

    /// Called when the stream has ended (EOS). Does nothing by default.
    open func reachedEndOfStream() {}

    /// Called when a flush starts (true) and stops (false), on the thread that flushes. Does nothing by default.
    open func flush(_ isStarting: Bool) {}

    /// Called with true when data flow ends: a blocked `received` must return `flushing` at once, as must later calls,
    /// until this method is called with false, when data flow begins again. Called on the thread that activates or
    /// deactivates the pad. Does nothing by default.
    open func interrupt(_ isOn: Bool) {}
}

/// An additional sink pad of an element, whose buffers and events go to a delegate instead of the element's base class.
/// Nothing is passed on downstream.
public final class InputPad: Sendable {
    /// The pad.
    public let pad: Pad

    /// Adds a pad from the template `name` to the element, which owns it. Returns `nil` if the element has no such
    /// template.
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

    /// The pad as the result of `ElementImplementation.requestPad`.
    package var requested: GhostPad { GhostPad(pad.pad) }

    /// Deactivates the pad and removes it from its element, for `ElementImplementation.releasePad`.
    public func remove() {
        guard let parent = gst_pad_get_parent_element(pad.pad) else { return }
        gst_pad_set_active(pad.pad, 0)
        gst_element_remove_pad(parent, pad.pad)
        gst_object_unref(parent)
    }
}

/// The context of the pad's functions. Only the streaming thread uses the segment.
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
        case GST_EVENT_CAPS: return Caps(of: event).map(delegate.formatChanged) == true ? 1 : 0
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
        // Other queries aren't forwarded: the stream ends at this pad.
        default: return 0
        }
    }
}
