import CGStreamer
import CGStreamerShims

/// An element's state (`GstState`).
public enum State: Int, Sendable, Comparable, CaseIterable {
    case null = 1
    case ready, paused, playing

    package var raw: GstState { GstState(rawValue: UInt32(rawValue)) }
    package init?(_ raw: GstState) { self.init(rawValue: Int(raw.rawValue)) }

    public static func < (a: State, b: State) -> Bool { a.rawValue < b.rawValue }
}

/// What a change of state came to (`GstStateChangeReturn`).
public enum StateChangeResult: Sendable {
    case failure, success, async, noPreroll

    package init(_ raw: GstStateChangeReturn) {
        switch raw {
        case GST_STATE_CHANGE_SUCCESS: self = .success
        case GST_STATE_CHANGE_ASYNC: self = .async
        case GST_STATE_CHANGE_NO_PREROLL: self = .noPreroll
        default: self = .failure
        }
    }

    package var raw: GstStateChangeReturn {
        switch self {
        case .failure: GST_STATE_CHANGE_FAILURE
        case .success: GST_STATE_CHANGE_SUCCESS
        case .async: GST_STATE_CHANGE_ASYNC
        case .noPreroll: GST_STATE_CHANGE_NO_PREROLL
        }
    }
}

/// An element of a pipeline.
public class Element: ObjectReference, @unchecked Sendable {
    package var element: UnsafeMutablePointer<GstElement> { raw.assumingMemoryBound(to: GstElement.self) }

    /// A new element by its factory's name; `nil` when there is no such factory.
    public convenience init?(factory: String, name: String? = nil) {
        GStreamerRuntime.initialize()
        guard let raw = gst_element_factory_make(factory, name) else { return nil }
        self.init(taking: raw)
    }

    /// Several elements as one, from a description in `gst-launch-1.0` syntax: a bin whose pads are the ends that are open.
    public convenience init(parsing description: String) throws(GLibError) {
        GStreamerRuntime.initialize()
        var error: UnsafeMutablePointer<GError>?
        let bin = gst_parse_bin_from_description_full(description, 1, nil, GST_PARSE_FLAG_FATAL_ERRORS, &error)
        if let error {
            if let bin { gst_object_unref(bin) }
            throw GLibError(taking: error)
        }
        self.init(taking: UnsafeMutableRawPointer(bin!))
    }

    /// The name of the factory that made it, such as "videoconvert".
    public var factoryName: String? {
        guard let factory = gst_element_get_factory(element) else { return nil }
        return takeString(gst_object_get_name(UnsafeMutableRawPointer(factory).assumingMemoryBound(to: GstObject.self)))
    }

    /// Whether streams end in it.
    public var isSink: Bool { object.pointee.flags & GST_ELEMENT_FLAG_SINK.rawValue != 0 }

    /// The bin that it is in.
    public var parent: Element? {
        guard let parent = gst_object_get_parent(object) else { return nil }
        let reference = Element(adopting: UnsafeMutableRawPointer(parent))
        return g_type_check_instance_is_a(
            reference.raw.assumingMemoryBound(to: GTypeInstance.self), gst_element_get_type()) != 0 ? reference : nil
    }

    /// The bins that it is in, the innermost first and the pipeline last.
    public var ancestors: some Sequence<Element> { sequence(first: self, next: \.parent).dropFirst() }

    public func staticPad(_ name: String) -> Pad? {
        gst_element_get_static_pad(element, name).map { Pad(taking: $0) }
    }

    /// A pad of a request template such as `src_%u`; `nil` when the element refuses.
    public func requestPad(_ template: String) -> Pad? {
        gst_element_request_pad_simple(element, template).map { Pad(taking: $0) }
    }

    public func releasePad(_ pad: Pad) { gst_element_release_request_pad(element, pad.pad) }

    public var pads: [Pad] {
        var result: [Pad] = []
        withUnsafeMutablePointer(to: &result) { list in
            _ = gst_element_foreach_pad(
                element,
                { _, pad, data in
                    data!.assumingMemoryBound(to: [Pad].self).pointee.append(Pad(retaining: pad!))
                    return 1
                }, list)
        }
        return result
    }

    /// Asks for a change of state. It may block until data flow has stopped: never call it from a streaming thread to
    /// stop that thread's own element, nor from a Swift task.
    @discardableResult
    public func setState(_ state: State) -> StateChangeResult {
        StateChangeResult(gst_element_set_state(element, state.raw))
    }

    /// Goes to the state that its bin is in, or is going to.
    @discardableResult
    public func syncState() -> Bool { gst_element_sync_state_with_parent(element) != 0 }

    /// Whether its bin leaves its state alone when it changes its own.
    public func setLocksState(_ locks: Bool) { gst_element_set_locked_state(element, locks ? 1 : 0) }

    /// Links the element's `src` to the other's `sink`; false when they can't be.
    public func link(to next: Element) -> Bool { gst_element_link(element, next.element) != 0 }

    /// The state as it is now, without waiting.
    public var state: State {
        var state = GST_STATE_NULL
        gst_element_get_state(element, &state, nil, 0)
        return State(state) ?? .null
    }

    /// Whether a thread is inside a change of this element's state now: where a change that doesn't return is stuck.
    package var isChangingState: Bool {
        // GStreamer holds this lock for as long as a change takes. It is recursive: another thread has to ask.
        guard g_rec_mutex_trylock(&element.pointee.state_lock) != 0 else { return true }
        g_rec_mutex_unlock(&element.pointee.state_lock)
        return false
    }

    /// Whether it is in PLAYING, and so has a clock and a base time. Takes no lock.
    public var isPlaying: Bool { element.pointee.current_state == GST_STATE_PLAYING }

    /// Waits until a pending change of state is done.
    public func waitForState(timeout: ClockTime?) -> (result: StateChangeResult, state: State) {
        var state = GST_STATE_NULL
        let result = gst_element_get_state(element, &state, nil, timeout.raw)
        return (StateChangeResult(result), State(state) ?? .null)
    }

    /// Running time now; `nil` without a clock.
    public var currentRunningTime: ClockTime? { ClockTime(raw: gst_element_get_current_running_time(element)) }

    /// The running time at which PLAYING began, on the clock.
    public var baseTime: ClockTime? { ClockTime(raw: gst_element_get_base_time(element)) }

    /// Begins a flush of the stream from this element on, or ends it.
    ///
    /// Without the element's state lock, which `gst_element_send_event` holds: a sink that is flushed posts messages, for
    /// which a bin takes its own, while a change of state may hold that and wait for this.
    public func sendFlush(_ isStarting: Bool) {
        _ = element.elementClass.pointee.send_event(
            element, isStarting ? gst_event_new_flush_start() : gst_event_new_flush_stop(1))
    }

    /// Sends end-of-stream into the sources. Holds their state locks until they have taken it, which is after their current
    /// push.
    @discardableResult
    public func sendEndOfStream() -> Bool { gst_element_send_event(element, gst_event_new_eos()) != 0 }

    /// Emits `no-more-pads` (`gst_element_no_more_pads`). Delayed links that still wait for a pad then fail.
    public func emitNoMorePads() { gst_element_no_more_pads(element) }

    /// How far the stream is, in stream time.
    public var position: ClockTime? {
        var position: gint64 = 0
        guard gst_element_query_position(element, GST_FORMAT_TIME, &position) != 0, position >= 0 else { return nil }
        return ClockTime(nanoseconds: UInt64(position))
    }

    /// How long the stream is, where that is known.
    public var duration: ClockTime? {
        var duration: gint64 = 0
        guard gst_element_query_duration(element, GST_FORMAT_TIME, &duration) != 0, duration >= 0 else { return nil }
        return ClockTime(nanoseconds: UInt64(duration))
    }

    /// The graph's latency as its elements report it.
    public var latency: (live: Bool, minimum: ClockTime)? {
        let query = gst_query_new_latency()
        defer { gst_query_unref(query) }
        guard gst_element_query(element, query) != 0 else { return nil }
        var live: gboolean = 0
        var minimum: GstClockTime = 0
        gst_query_parse_latency(query, &live, &minimum, nil)
        return (live != 0, ClockTime(nanoseconds: UInt64(minimum)))
    }

    /// Tells the bus that this element's latency is another now: the pipeline then asks for all of them anew.
    public func postLatencyChanged() { gst_element_post_message(element, gst_message_new_latency(object)) }

    /// Posts a message of this element's own on the bus (`GST_MESSAGE_ELEMENT`).
    public func post(_ structure: Structure) {
        gst_element_post_message(element, gst_message_new_element(object, gst_structure_copy(structure.raw)))
    }
}
