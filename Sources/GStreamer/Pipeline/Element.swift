import CGStreamer
import CGStreamerShims

/// An element's state (`GstState`).
public enum State: Int, Sendable, Comparable, CaseIterable {
    /// The element holds no resources.
    case null = 1
    /// The element holds its resources, such as an open device, but no data flows.
    case ready
    /// Data flows up to the sinks, which wait for PLAYING; live sources send nothing.
    case paused
    /// Data flows, and sinks render it by the clock.
    case playing

    package var raw: GstState { GstState(rawValue: UInt32(rawValue)) }
    package init?(_ raw: GstState) { self.init(rawValue: Int(raw.rawValue)) }

    /// Whether `a` is a lower state than `b`; NULL is the lowest, PLAYING the highest.
    public static func < (a: State, b: State) -> Bool { a.rawValue < b.rawValue }
}

/// The result of a state change (`GstStateChangeReturn`).
public enum StateChangeResult: Sendable {
    /// The change failed.
    case failure
    /// The change is complete.
    case success
    /// The change goes on in the background.
    case async
    /// The change is complete, but the element is live and sends no data in PAUSED.
    case noPreroll

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

/// An element of a pipeline (`GstElement`).
public class Element: ObjectReference, @unchecked Sendable {
    package var element: UnsafeMutablePointer<GstElement> { raw.assumingMemoryBound(to: GstElement.self) }

    /// Creates an element by its factory's name; `nil` if there is no such factory.
    public convenience init?(factory: String, name: String? = nil) {
        GStreamerRuntime.initialize()
        guard let raw = gst_element_factory_make(factory, name) else { return nil }
        self.init(taking: raw)
    }

    /// Creates a bin from a description in the syntax of `gst-launch-1.0`. The unlinked pads of its elements become
    /// pads of the bin.
    public convenience init(parsing description: String) throws(GLibError) {
        self.init(taking: try Self.parse(description, ghostsUnlinkedPads: true))
    }

    /// Creates a bin from a description with elements of the names `inlet` and `outlet`, whose pads `sink` and `src` become the
    /// bin's pads. Unlike those of ``init(parsing:)``, these are the right pads even if links inside are made later, such as
    /// those of `decodebin`.
    package convenience init(
        parsing description: String, inlet: String, outlet: String? = nil
    ) throws(GLibError) {
        let raw = try Self.parse(description, ghostsUnlinkedPads: false)
        self.init(taking: raw)
        for (name, child) in [("sink", inlet), ("src", outlet)] {
            guard let child, let element = gst_bin_get_by_name(raw.assumingMemoryBound(to: GstBin.self), child) else {
                continue
            }
            let pad = gst_element_get_static_pad(element, name)
            gst_element_add_pad(self.element, gst_ghost_pad_new(name, pad))
            gst_object_unref(pad)
            gst_object_unref(element)
        }
    }

    /// Returns a new bin with the elements of the description.
    private static func parse(
        _ description: String, ghostsUnlinkedPads: Bool
    ) throws(GLibError) -> UnsafeMutableRawPointer {
        GStreamerRuntime.initialize()
        var error: UnsafeMutablePointer<GError>?
        let bin = gst_parse_bin_from_description_full(
            description, ghostsUnlinkedPads ? 1 : 0, nil, GST_PARSE_FLAG_FATAL_ERRORS, &error)
        if let error {
            if let bin { gst_object_unref(bin) }
            throw GLibError(taking: error)
        }
        return UnsafeMutableRawPointer(bin!)
    }

    /// The name of the factory that created the element, such as "videoconvert"; `nil` if no factory did.
    public var factoryName: String? {
        guard let factory = gst_element_get_factory(element) else { return nil }
        return takeString(gst_object_get_name(UnsafeMutableRawPointer(factory).assumingMemoryBound(to: GstObject.self)))
    }

    /// Whether the element is a sink, or a bin with a sink.
    public var isSink: Bool { object.pointee.flags & GST_ELEMENT_FLAG_SINK.rawValue != 0 }

    /// The bin that contains the element; `nil` if there is none.
    public var parent: Element? {
        guard let parent = gst_object_get_parent(object) else { return nil }
        let reference = Element(adopting: UnsafeMutableRawPointer(parent))
        return g_type_check_instance_is_a(
            reference.raw.assumingMemoryBound(to: GTypeInstance.self), gst_element_get_type()) != 0 ? reference : nil
    }

    /// The bins that contain the element, from the innermost to the pipeline.
    public var ancestors: some Sequence<Element> { sequence(first: self, next: \.parent).dropFirst() }

    /// Returns the pad with this name; `nil` if there is none.
    public func staticPad(_ name: String) -> Pad? {
        gst_element_get_static_pad(element, name).map { Pad(taking: $0) }
    }

    /// Requests a pad of a template such as `src_%u`; `nil` if the element refuses. Release it with ``releasePad(_:)``.
    public func requestPad(_ template: String) -> Pad? {
        gst_element_request_pad_simple(element, template).map { Pad(taking: $0) }
    }

    /// Requests a pad of a template such as `sink_%u`, by its name and for media of these caps; `nil` if the element
    /// refuses. Release it with ``releasePad(_:)``.
    package func requestPad(_ template: String, named name: String, _ caps: Caps) -> Pad? {
        guard let template = gst_element_get_pad_template(element, template) else { return nil }
        return gst_element_request_pad(element, template, name, caps.raw).map { Pad(taking: $0) }
    }

    /// Releases a pad that ``requestPad(_:)`` has returned.
    public func releasePad(_ pad: Pad) { gst_element_release_request_pad(element, pad.pad) }

    /// The pads that the element has now.
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

    /// Changes the element's state. May block until data has stopped flowing, so don't call it in a Swift task, nor on
    /// a streaming thread to stop the element to which that thread belongs.
    @discardableResult
    public func setState(_ state: State) -> StateChangeResult {
        StateChangeResult(gst_element_set_state(element, state.raw))
    }

    /// Changes the element's state to that of its bin, or to the state to which the bin is changing. False if that
    /// fails.
    @discardableResult
    public func syncState() -> Bool { gst_element_sync_state_with_parent(element) != 0 }

    /// Sets whether the element keeps its state when its bin changes state.
    public func setStateLocked(_ locks: Bool) { gst_element_set_locked_state(element, locks ? 1 : 0) }

    /// Links the element to `next`, by the first pads that fit. False if no pads can be linked.
    public func link(to next: Element) -> Bool { gst_element_link(element, next.element) != 0 }

    /// The current state. Doesn't wait for a pending change.
    public var state: State {
        var state = GST_STATE_NULL
        gst_element_get_state(element, &state, nil, 0)
        return State(state) ?? .null
    }

    /// Whether another thread is changing this element's state now. Finds the element where a change hangs.
    package var isChangingState: Bool {
        // GStreamer holds this lock during a change. The lock is recursive, so the thread that makes the change gets
        // false.
        guard g_rec_mutex_trylock(&element.pointee.state_lock) != 0 else { return true }
        g_rec_mutex_unlock(&element.pointee.state_lock)
        return false
    }

    /// Whether the element is in PLAYING, in which it has a clock and a base time. Takes no lock.
    public var isPlaying: Bool { element.pointee.current_state == GST_STATE_PLAYING }

    /// Waits until a pending state change is complete, and returns its result and the state. A `timeout` of `nil` waits
    /// without a limit; if the time is over, the result is ``StateChangeResult/async``.
    public func waitForState(timeout: Duration?) -> (result: StateChangeResult, state: State) {
        var state = GST_STATE_NULL
        let result = gst_element_get_state(element, &state, nil, timeout.raw)
        return (StateChangeResult(result), State(state) ?? .null)
    }

    /// The current running time; `nil` if the element has no clock.
    public var currentRunningTime: ClockTime? { ClockTime(raw: gst_element_get_current_running_time(element)) }

    /// The time of the clock at which the running time is zero; `nil` if it isn't set.
    public var baseTime: ClockTime? { ClockTime(raw: gst_element_get_base_time(element)) }

    /// Starts flushing the stream from this element on, or stops flushing.
    ///
    /// Calls `send_event` of the class, without the element's state lock. `gst_element_send_event` holds that lock,
    /// which could deadlock: a flushed sink posts messages, and the bin takes its own state lock for them, while a
    /// state change may hold the bin's lock and wait for the element's.
    public func sendFlush(_ isStarting: Bool) {
        _ = element.elementClass.pointee.send_event(
            element, isStarting ? gst_event_new_flush_start() : gst_event_new_flush_stop(1))
    }

    /// Sends EOS to the element; a bin passes it to its sources. Blocks until the sources have accepted it, which is
    /// after their current push, and holds their state locks meanwhile.
    @discardableResult
    public func sendEndOfStream() -> Bool { gst_element_send_event(element, gst_event_new_eos()) != 0 }

    /// Emits `no-more-pads` (`gst_element_no_more_pads`). Delayed links that still wait for a pad then fail.
    public func emitNoMorePads() { gst_element_no_more_pads(element) }

    /// The current position in stream time; `nil` if unknown.
    public var position: ClockTime? {
        var position: gint64 = 0
        guard gst_element_query_position(element, GST_FORMAT_TIME, &position) != 0, position >= 0 else { return nil }
        return ClockTime(nanoseconds: UInt64(position))
    }

    /// The duration of the stream; `nil` if unknown.
    public var duration: Duration? {
        var duration: gint64 = 0
        guard gst_element_query_duration(element, GST_FORMAT_TIME, &duration) != 0, duration >= 0 else { return nil }
        return .nanoseconds(duration)
    }

    /// The latency that the elements report: whether the graph is live, and its minimum latency. `nil` if the query
    /// fails.
    public var latency: (live: Bool, minimum: Duration)? {
        let query = gst_query_new_latency()
        defer { gst_query_unref(query) }
        guard gst_element_query(element, query) != 0 else { return nil }
        var live: gboolean = 0
        var minimum: GstClockTime = 0
        gst_query_parse_latency(query, &live, &minimum, nil)
        return (live != 0, .nanoseconds(UInt64(minimum)))
    }

    /// Posts that this element's latency has changed. The pipeline then queries all latencies again.
    public func postLatencyChanged() { gst_element_post_message(element, gst_message_new_latency(object)) }

    /// Posts an element message on the bus (`GST_MESSAGE_ELEMENT`).
    public func post(_ structure: Structure) {
        gst_element_post_message(element, gst_message_new_element(object, gst_structure_copy(structure.raw)))
    }
}
