import CGStreamer
import CGStreamerCheck
import GStreamer

/// A wrapper of `GstHarness`: connects one element to a source pad and a sink pad of the test, and to a clock that
/// stands still.
///
/// Use it to test what a handler can't see: the caps, events, queries and buffers of the node that runs it, or of any
/// other element. To test a handler alone, use `ProcessorHarness` or `ConsumerHarness`.
public final class Harness {
    private let raw: UnsafeMutablePointer<GstHarness>
    /// The element under test.
    public let element: Element
    /// Created on first use, because it starts a thread.
    private lazy var clock = TestClock(Clock(taking: gst_harness_get_testclock(raw)))

    /// Creates a harness for an element.
    ///
    /// - Parameters:
    ///   - element: The element under test.
    ///   - sink: The name of the element's sink pad, or of its template; `nil` leaves that side unconnected.
    ///   - source: The name of the element's source pad, or of its template; `nil` leaves that side unconnected.
    public init(_ element: Element, sink: String?, source: String?) {
        self.element = element
        raw = gst_harness_new_with_element(element.element, sink, source)
    }

    deinit { gst_harness_teardown(raw) }

    /// Sets the caps of the buffers that the test pushes.
    public func setSourceCaps(_ caps: String) { gst_harness_set_src_caps_str(raw, caps) }

    /// Sets the caps that the test's sink pad accepts.
    public func setSinkCaps(_ caps: String) { gst_harness_set_sink_caps_str(raw, caps) }

    /// Sets whether the test's source pad answers LATENCY queries as a live source; it does by default.
    public func setLive(_ on: Bool) { gst_harness_set_live(raw, on ? 1 : 0) }

    /// Moves the harness's clock, which stands still otherwise. The base time is zero, so running time equals clock
    /// time.
    public func setTime(_ time: ClockTime) { clock.advance(to: time) }

    /// Waits until a thread of the element waits for a time that the clock hasn't reached, and none for an earlier one:
    /// what was due has been pushed. Returns false after a minute.
    package func waitsForClock() -> Bool {
        let deadline = monotonicNanoseconds() + 60_000_000_000
        while !clock.isWaitedFor {
            guard monotonicNanoseconds() < deadline else { return false }
            g_usleep(100)
        }
        return true
    }

    /// Starts an element without a sink pad.
    public func play() { gst_harness_play(raw) }

    /// Pushes one buffer.
    @discardableResult
    public func push(_ buffer: consuming Buffer) -> FlowReturn { FlowReturn(gst_harness_push(raw, buffer.take())) }

    /// Pushes a buffer with a copy of these bytes.
    @discardableResult
    public func push(_ bytes: [UInt8], at timestamp: ClockTime = .zero) -> FlowReturn {
        let buffer = Buffer(bytes)
        buffer.access.presentationTimestamp = timestamp
        return push(buffer)
    }

    /// Pushes a list of buffers with copies of these bytes. Each buffer lasts `duration` and begins where the previous
    /// ends.
    @discardableResult
    public func push(list: [[UInt8]], lasting duration: Duration) -> FlowReturn {
        let buffers = gst_buffer_list_new_sized(guint(list.count))!
        for (index, bytes) in list.enumerated() {
            let buffer = Buffer(bytes)
            buffer.access.presentationTimestamp = .zero + duration * index
            buffer.access.duration = duration
            gst_buffer_list_insert(buffers, -1, buffer.take())
        }
        return FlowReturn(gst_pad_push_list(raw.pointee.srcpad, buffers))
    }

    /// Waits for the next buffer that the element pushes and returns it; `nil` if there is none within a minute.
    public func pull() -> Buffer? {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            if let buffer = gst_harness_try_pull(raw) { return Buffer(taking: buffer) }
            g_usleep(500)
        }
        return nil
    }

    /// Waits for the next buffer as `pull()` does, and returns its timestamp.
    public func pulledTimestamp() -> ClockTime? { pull()?.access.presentationTimestamp }

    /// Events that a test can push.
    public enum Event {
        /// EOS.
        case endOfStream
        /// FLUSH_START.
        case flushStart
        /// FLUSH_STOP, which resets the running time.
        case flushStop
        /// GAP, with its timestamp and duration.
        case gap(ClockTime, Duration)
        /// CAPS.
        case caps(String)
        /// SEGMENT in time format, from zero on.
        case segment
        /// STREAM_START, with a stream ID.
        case streamStart(String)
        /// SEGMENT in time format, with the timestamps at which it starts and stops.
        case segmentBetween(ClockTime, ClockTime)
        /// SEGMENT in time format, with the timestamp at which it starts and the stream time of that timestamp.
        case segmentShowing(ClockTime, at: ClockTime)
        /// A custom sticky downstream event.
        case custom(Structure)
        /// TAG with an `image-orientation`, in stream or in global scope.
        case orientation(String, isGlobal: Bool = false)
    }

    /// Pushes an event. Returns `false` if the element refuses it.
    @discardableResult
    public func push(_ event: Event) -> Bool {
        let raw: UnsafeMutablePointer<GstEvent>
        switch event {
        case .endOfStream: raw = gst_event_new_eos()
        case .flushStart: raw = gst_event_new_flush_start()
        case .flushStop: raw = gst_event_new_flush_stop(1)
        case .gap(let time, let duration):
            raw = gst_event_new_gap(GstClockTime(time.nanoseconds), GstClockTime(duration.nanoseconds))
        case .caps(let text):
            let caps = Caps(text)!
            raw = gst_event_new_caps(caps.raw)
        case .segment: raw = Segment().newEvent()
        case .segmentBetween(let start, let stop):
            var segment = GstSegment()
            gst_segment_init(&segment, GST_FORMAT_TIME)
            segment.start = guint64(start.nanoseconds)
            segment.time = segment.start
            segment.stop = guint64(stop.nanoseconds)
            raw = gst_event_new_segment(&segment)
        case .segmentShowing(let start, let time):
            var segment = GstSegment()
            gst_segment_init(&segment, GST_FORMAT_TIME)
            segment.start = guint64(start.nanoseconds)
            segment.time = guint64(time.nanoseconds)
            raw = gst_event_new_segment(&segment)
        case .orientation(let value, let isGlobal):
            let tags = gst_tag_list_new_empty()
            gst_tag_list_set_scope(tags, isGlobal ? GST_TAG_SCOPE_GLOBAL : GST_TAG_SCOPE_STREAM)
            Value(value).read { gst_tag_list_add_value(tags, GST_TAG_MERGE_REPLACE, "image-orientation", $0) }
            raw = gst_event_new_tag(tags)
        case .streamStart(let id): raw = gst_event_new_stream_start(id)
        case .custom(let structure):
            raw = gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_copy(structure.raw))
        }
        return gst_harness_push_event(self.raw, raw) != 0
    }

    /// Sets the minimum latency with which the test's source pad answers LATENCY queries.
    public func setUpstreamLatency(_ latency: Duration) {
        gst_harness_set_upstream_latency(raw, GstClockTime(latency.nanoseconds))
    }

    /// Makes the test's source pad answer LATENCY queries as a live source while `isReady` returns `true`, and fail them
    /// otherwise. `isReady` is called on the thread that sends the query.
    public func answerLatency(_ isReady: @escaping @Sendable () -> Bool) {
        let box = Unmanaged.passRetained(Box(isReady)).toOpaque()
        gst_pad_set_query_function_full(
            raw.pointee.srcpad,
            { pad, parent, query in
                guard query!.pointee.type == GST_QUERY_LATENCY else { return gst_pad_query_default(pad, parent, query) }
                guard Unmanaged<Box>.fromOpaque(pad!.pointee.querydata).takeUnretainedValue().isReady() else {
                    return 0
                }
                gst_query_set_latency(query, 1, 0, GstClockTime.max)
                return 1
            }, box, { Unmanaged<Box>.fromOpaque($0!).release() })
    }

    private final class Box: Sendable {
        let isReady: @Sendable () -> Bool
        init(_ isReady: @escaping @Sendable () -> Bool) { self.isReady = isReady }
    }

    /// The number of buffers that the element has pushed and the test hasn't pulled.
    public var bufferCount: Int { Int(gst_harness_buffers_in_queue(raw)) }

    /// The element's answer to a LATENCY query; `nil` if the query fails. A `maximum` of `nil` means no limit.
    public var latency: (isLive: Bool, minimum: Duration, maximum: Duration?)? {
        let query = gst_query_new_latency()
        defer { gst_query_unref(query) }
        guard gst_pad_peer_query(raw.pointee.sinkpad, query) != 0 else { return nil }
        var (live, minimum, maximum): (gboolean, GstClockTime, GstClockTime) = (0, 0, 0)
        gst_query_parse_latency(query, &live, &minimum, &maximum)
        return (live != 0, .nanoseconds(UInt64(minimum)), Duration(raw: maximum))
    }

    /// Removes and returns the names of the types of all events that the element has pushed downstream, oldest first.
    public func pulledEvents() -> [String] {
        var names: [String] = []
        while let event = gst_harness_try_pull_event(raw) {
            names.append(String(cString: gst_event_type_get_name(event.pointee.type)))
            gst_event_unref(event)
        }
        return names
    }

    /// Sends a flushing seek upstream from the test's sink pad. Returns `false` if it isn't handled.
    public func seekUpstream(to time: ClockTime) -> Bool {
        gst_harness_push_upstream_event(
            raw,
            gst_event_new_seek(
                1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, gint64(time.nanoseconds),
                GST_SEEK_TYPE_NONE,
                0)) != 0
    }

    /// Returns the values of a text tag in all events that the element has pushed downstream, oldest first. Removes
    /// these events and all others.
    public func pulledTags(_ name: String) -> [String] {
        var values: [String] = []
        while let event = gst_harness_try_pull_event(raw) {
            defer { gst_event_unref(event) }
            guard event.pointee.type == GST_EVENT_TAG else { continue }
            var tags: UnsafeMutablePointer<GstTagList>?
            gst_event_parse_tag(event, &tags)
            var value: UnsafeMutablePointer<CChar>?
            guard gst_tag_list_get_string(tags, name, &value) != 0, let value else { continue }
            values.append(String(cString: value))
            g_free(value)
        }
        return values
    }

    /// Sends an ALLOCATION query for buffers of `caps`. Returns `false` if the element doesn't answer.
    public func queryAllocation(_ caps: String) -> Bool {
        let caps = Caps(caps)!
        let query = gst_query_new_allocation(caps.raw, 1)
        defer { gst_query_unref(query) }
        return gst_pad_peer_query(raw.pointee.srcpad, query) != 0
    }

    /// Returns whether the element accepts `GstVideoMeta`, according to its answer to an ALLOCATION query for `caps`.
    public func acceptsVideoMeta(_ caps: String) -> Bool {
        let caps = Caps(caps)!
        let query = gst_query_new_allocation(caps.raw, 1)
        defer { gst_query_unref(query) }
        return gst_pad_peer_query(raw.pointee.srcpad, query) != 0
            && gst_query_find_allocation_meta(query, gst_video_meta_api_get_type(), nil) != 0
    }
}

extension Buffer {
    /// Creates a buffer with a copy of `bytes`.
    public init(_ bytes: [UInt8]) {
        let raw = gst_buffer_new_allocate(nil, gsize(bytes.count), nil)!
        gst_buffer_fill(raw, 0, bytes, gsize(bytes.count))
        self.init(taking: raw)
    }

    /// The address of the `GstBuffer`, which identifies it during its lifetime.
    public var address: UInt { UInt(bitPattern: raw) }

    /// A copy of the buffer's bytes.
    public var bytes: [UInt8] { access.bytes }
}

extension Element {
    /// Performs a flushing seek to a stream time, as an application does. Returns `false` if the element can't seek.
    public func seek(to time: ClockTime) -> Bool {
        gst_element_seek_simple(element, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, gint64(time.nanoseconds)) != 0
    }

    /// Flushes the stream from this element downstream, as an application does.
    public func sendFlush() {
        gst_element_send_event(element, gst_event_new_flush_start())
        gst_element_send_event(element, gst_event_new_flush_stop(1))
    }
}
