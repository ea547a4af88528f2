import CGStreamer
import CGStreamerCheck
import GStreamer

/// GStreamer's own harness (`GstHarness`): one element with pads of the test's around it and a clock that stands still.
///
/// For what a handler can't see from inside: caps, events, queries and buffers of the node that runs it, or of any element.
/// For the handler alone there are `ProcessorHarness` and `ConsumerHarness`.
public final class Harness {
    private let raw: UnsafeMutablePointer<GstHarness>
    /// The element under test.
    public let element: Element
    /// Made for the first test that moves it: it has a thread.
    private lazy var clock = TestClock(Clock(taking: gst_harness_get_testclock(raw)))

    /// `sink` and `source` are the element's pads to connect; `nil` leaves that side open.
    public init(_ element: Element, sink: String?, source: String?) {
        self.element = element
        raw = gst_harness_new_with_element(element.element, sink, source)
    }

    deinit { gst_harness_teardown(raw) }

    /// The caps of what the test pushes.
    public func setSourceCaps(_ caps: String) { gst_harness_set_src_caps_str(raw, caps) }

    /// What the test's sink pad takes.
    public func setSinkCaps(_ caps: String) { gst_harness_set_sink_caps_str(raw, caps) }

    /// What the test's source answers to LATENCY; a harness is live, on a clock that stands still, unless told.
    public func setLive(_ on: Bool) { gst_harness_set_live(raw, on ? 1 : 0) }

    /// Moves the harness's clock, which stands still otherwise. Running time is the same: its base time is zero.
    public func setTime(_ time: ClockTime) { clock.advance(to: time) }

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

    /// Pushes a list of buffers, each of these bytes, one behind the other in time.
    @discardableResult
    public func push(list: [[UInt8]], lasting duration: ClockTime) -> FlowReturn {
        let buffers = gst_buffer_list_new_sized(guint(list.count))!
        for (index, bytes) in list.enumerated() {
            let buffer = Buffer(bytes)
            buffer.access.presentationTimestamp = ClockTime(nanoseconds: UInt64(index) * duration.nanoseconds)
            buffer.access.duration = duration
            gst_buffer_list_insert(buffers, -1, buffer.take())
        }
        return FlowReturn(gst_pad_push_list(raw.pointee.srcpad, buffers))
    }

    /// The next buffer that the element has pushed; `nil` after five seconds without.
    public func pull() -> Buffer? {
        let deadline = monotonicNanoseconds() + 5_000_000_000
        while monotonicNanoseconds() < deadline {
            if let buffer = gst_harness_try_pull(raw) { return Buffer(taking: buffer) }
            g_usleep(500)
        }
        return nil
    }

    /// The timestamp of the next buffer that the element has pushed.
    public func pulledTimestamp() -> ClockTime? { pull()?.access.presentationTimestamp }

    /// Events that a test can push.
    public enum Event {
        case endOfStream, flushStart, flushStop, gap(ClockTime, ClockTime), caps(String), segment, streamStart(String)
        /// From a start up to a stop, as timestamps.
        case segmentBetween(ClockTime, ClockTime)
        /// From a start on, as timestamps, which is so far into the medium.
        case segmentShowing(ClockTime, at: ClockTime)
        case custom(Structure)
        /// Of the stream, or of the whole medium.
        case orientation(String, isGlobal: Bool = false)
    }

    /// Pushes an event; false when the element refuses it.
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
        case .segment:
            var segment = GstSegment()
            gst_segment_init(&segment, GST_FORMAT_TIME)
            raw = gst_event_new_segment(&segment)
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

    /// What the test's source answers to LATENCY: how late its buffers come.
    public func setUpstreamLatency(_ latency: ClockTime) {
        gst_harness_set_upstream_latency(raw, GstClockTime(latency.nanoseconds))
    }

    /// The test's source answers LATENCY as live when `knows`, and not at all before.
    public func answerLatency(_ knows: @escaping @Sendable () -> Bool) {
        let box = Unmanaged.passRetained(Box(knows)).toOpaque()
        gst_pad_set_query_function_full(
            raw.pointee.srcpad,
            { pad, parent, query in
                guard query!.pointee.type == GST_QUERY_LATENCY else { return gst_pad_query_default(pad, parent, query) }
                guard Unmanaged<Box>.fromOpaque(pad!.pointee.querydata).takeUnretainedValue().knows() else { return 0 }
                gst_query_set_latency(query, 1, 0, GstClockTime.max)
                return 1
            }, box, { Unmanaged<Box>.fromOpaque($0!).release() })
    }

    private final class Box: Sendable {
        let knows: @Sendable () -> Bool
        init(_ knows: @escaping @Sendable () -> Bool) { self.knows = knows }
    }

    /// What its sink pad has taken in and the test hasn't pulled.
    public var bufferCount: Int { Int(gst_harness_buffers_in_queue(raw)) }

    /// The element's answer to LATENCY; `nil` without one.
    public var latency: (isLive: Bool, minimum: ClockTime, maximum: ClockTime?)? {
        let query = gst_query_new_latency()
        defer { gst_query_unref(query) }
        guard gst_pad_peer_query(raw.pointee.sinkpad, query) != 0 else { return nil }
        var (live, minimum, maximum): (gboolean, GstClockTime, GstClockTime) = (0, 0, 0)
        gst_query_parse_latency(query, &live, &minimum, &maximum)
        return (
            live != 0, ClockTime(nanoseconds: UInt64(minimum)),
            maximum == .max ? nil : ClockTime(nanoseconds: UInt64(maximum))
        )
    }

    /// The types of the events that have come out, oldest first.
    public func pulledEvents() -> [String] {
        var names: [String] = []
        while let event = gst_harness_try_pull_event(raw) {
            names.append(String(cString: gst_event_type_get_name(event.pointee.type)))
            gst_event_unref(event)
        }
        return names
    }

    /// Sends a seek from the test's sink to the element.
    public func seekUpstream(to time: ClockTime) -> Bool {
        gst_harness_push_upstream_event(
            raw,
            gst_event_new_seek(
                1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, gint64(time.nanoseconds),
                GST_SEEK_TYPE_NONE,
                0)) != 0
    }

    /// The values of one text tag in the events that have come out, oldest first; other events are let go.
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

    /// Asks what the element proposes for buffers of `caps`. False: nothing.
    public func queryAllocation(_ caps: String) -> Bool {
        let caps = Caps(caps)!
        let query = gst_query_new_allocation(caps.raw, 1)
        defer { gst_query_unref(query) }
        return gst_pad_peer_query(raw.pointee.srcpad, query) != 0
    }

    /// Whether an ALLOCATION query for `caps` is answered with `GstVideoMeta`.
    public func acceptsVideoMeta(_ caps: String) -> Bool {
        let caps = Caps(caps)!
        let query = gst_query_new_allocation(caps.raw, 1)
        defer { gst_query_unref(query) }
        return gst_pad_peer_query(raw.pointee.srcpad, query) != 0
            && gst_query_find_allocation_meta(query, gst_video_meta_api_get_type(), nil) != 0
    }
}

extension Buffer {
    /// A buffer with a copy of `bytes`.
    public init(_ bytes: [UInt8]) {
        let raw = gst_buffer_new_allocate(nil, gsize(bytes.count), nil)!
        gst_buffer_fill(raw, 0, bytes, gsize(bytes.count))
        self.init(taking: raw)
    }

    /// Which buffer it is: that of another one differs as long as both live.
    public var address: UInt { UInt(bitPattern: raw) }

    /// A copy of what is in it.
    public var bytes: [UInt8] { access.bytes }
}

extension Element {
    /// Seeks to a time of the stream with a flush, as an application does. False where it isn't possible.
    public func seek(to time: ClockTime) -> Bool {
        gst_element_seek_simple(element, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, gint64(time.nanoseconds)) != 0
    }

    /// Flushes the stream from this element on, as an application does.
    public func sendFlush() {
        gst_element_send_event(element, gst_event_new_flush_start())
        gst_element_send_event(element, gst_event_new_flush_stop(1))
    }
}
