import CGStreamer

/// Who gets what an `appsink` receives. Every call is on the streaming thread, one at a time, in stream order.
///
/// A class, not a protocol: a call through an existential takes 60 instructions more for each frame, for its references.
///
/// `@unchecked Sendable`: it has no state of its own; a subclass says what guards its.
open class AppSinkDelegate: @unchecked Sendable {
    public init() {}
    open func received(_ sample: borrowing Sample) -> FlowReturn { .ok }
    open func received(_ event: StreamEvent) {}
    open func reachedEndOfStream() {}
}

/// GStreamer's `appsink`.
public final class AppSink: Element, @unchecked Sendable {
    private var sink: UnsafeMutablePointer<GstAppSink> { raw.assumingMemoryBound(to: GstAppSink.self) }

    /// `nil` when the app plugin of gst-plugins-base isn't there.
    public init?(name: String? = nil) {
        GStreamerRuntime.initialize()
        guard let raw = gst_element_factory_make("appsink", name) else { return nil }
        super.init(taking: raw)
    }

    /// Wraps an appsink that exists.
    public init?(_ element: Element) {
        guard element.typeName == "GstAppSink" else { return nil }
        super.init(retaining: element.raw)
    }

    /// Sends everything to `delegate`, which the appsink keeps. Set before data flows.
    public func setDelegate(_ delegate: AppSinkDelegate) {
        var callbacks = GstAppSinkCallbacks()
        callbacks.new_sample = { sink, context in
            guard let sample = gst_app_sink_pull_sample(sink) else { return GST_FLOW_EOS }
            return Unmanaged<AppSinkDelegate>.fromOpaque(context!)._withUnsafeGuaranteedRef {
                $0.received(Sample(taking: sample)).raw
            }
        }
        callbacks.new_event = { sink, context in
            // Taking them off the queue keeps events from piling up while no buffer comes. Each time all of them: GStreamer 1.22
            // queues a CAPS event twice. 0: the sink goes on with the event.
            while let object = gst_app_sink_try_pull_object(sink, 0) {
                defer { gst_mini_object_unref(object) }
                guard object.pointee.type == gst_event_get_type(),
                    let event = StreamEvent(UnsafeMutableRawPointer(object).assumingMemoryBound(to: GstEvent.self))
                else { continue }
                Unmanaged<AppSinkDelegate>.fromOpaque(context!).takeUnretainedValue().received(event)
            }
            return 0
        }
        callbacks.eos = { _, context in
            Unmanaged<AppSinkDelegate>.fromOpaque(context!).takeUnretainedValue().reachedEndOfStream()
        }
        let retained = Unmanaged.passRetained(delegate).toOpaque()
        gst_app_sink_set_callbacks(sink, &callbacks, retained) { Unmanaged<AppSinkDelegate>.fromOpaque($0!).release() }
    }

    /// Lets the delegate go; for a delegate that holds the appsink. Not while data flows.
    public func removeDelegate() {
        var none = GstAppSinkCallbacks()
        gst_app_sink_set_callbacks(sink, &none, nil, nil)
    }

    /// Waits for the next sample; `nil` when none came in time, or none will. For an appsink without a delegate, on a thread
    /// that may wait.
    public func pull(timeout: ClockTime) -> Sample? {
        gst_app_sink_try_pull_sample(sink, GstClockTime(timeout.nanoseconds)).map { Sample(taking: $0) }
    }

    /// For a delegate, while it has a sample: `body` runs without the lock that the sink's changes of state need, and the sample
    /// counts as the one that a sink has in PAUSED. False when a flush or a stop has come meanwhile.
    ///
    /// Not `gst_base_sink_wait_preroll`: it goes on at a change to PLAYING, which may have been before.
    public func leavePrerollLock(_ body: () -> Void) -> Bool {
        let sink = raw.assumingMemoryBound(to: GstBaseSink.self)
        sink.pointee.have_preroll = 1
        g_mutex_unlock(&sink.pointee.preroll_lock)
        body()
        g_mutex_lock(&sink.pointee.preroll_lock)
        sink.pointee.have_preroll = 0
        return sink.pointee.flushing == 0
    }

    /// All there was has been pulled.
    public var hasEnded: Bool { gst_app_sink_is_eos(sink) != 0 }

    /// What it accepts, in order of preference.
    public func setCaps(_ caps: Caps) { gst_app_sink_set_caps(sink, caps.raw) }

    /// How long rendering takes: part of the latency that a sink asks live sources to make up for.
    public func setProcessingDeadline(_ time: ClockTime) {
        gst_base_sink_set_processing_deadline(
            raw.assumingMemoryBound(to: GstBaseSink.self), GstClockTime(time.nanoseconds))
    }

    /// Whether the last buffer is kept until the next one is done, for whoever asks for `last-sample`.
    public func keepsLastSample(_ on: Bool) {
        gst_base_sink_set_last_sample_enabled(raw.assumingMemoryBound(to: GstBaseSink.self), on ? 1 : 0)
    }

    /// Whether PAUSED waits for a first buffer.
    public func setPrerolls(_ on: Bool) {
        gst_base_sink_set_async_enabled(raw.assumingMemoryBound(to: GstBaseSink.self), on ? 1 : 0)
    }

    /// Whether buffers wait for their time on the clock.
    public func setSynchronized(_ on: Bool) {
        gst_base_sink_set_sync(raw.assumingMemoryBound(to: GstBaseSink.self), on ? 1 : 0)
    }
}

/// Serialised downstream events that a receiver may care for.
public enum StreamEvent: Sendable {
    case streamStart(StreamStart)
    case caps(Caps)
    case segment
    case gap(timestamp: ClockTime?, duration: ClockTime?)
    /// Tags that say how the pictures lie.
    case orientation(OrientationTag)
    /// A custom event's structure.
    case custom(Structure)
    case other

    init?(_ event: UnsafeMutablePointer<GstEvent>) {
        switch event.pointee.type {
        case GST_EVENT_STREAM_START:
            self = .streamStart(StreamStart(retaining: event))
        case GST_EVENT_CAPS:
            var caps: UnsafeMutablePointer<GstCaps>?
            gst_event_parse_caps(event, &caps)
            guard let caps else { return nil }
            self = .caps(Caps(retaining: caps))
        case GST_EVENT_SEGMENT: self = .segment
        case GST_EVENT_TAG: self = OrientationTag(event).map { .orientation($0) } ?? .other
        case GST_EVENT_GAP:
            var timestamp: GstClockTime = 0
            var duration: GstClockTime = 0
            gst_event_parse_gap(event, &timestamp, &duration)
            self = .gap(timestamp: ClockTime(raw: timestamp), duration: ClockTime(raw: duration))
        case GST_EVENT_CUSTOM_DOWNSTREAM, GST_EVENT_CUSTOM_DOWNSTREAM_STICKY:
            guard let structure = gst_event_get_structure(event) else { return nil }
            self = .custom(Structure(copying: structure))
        default: self = .other
        }
    }
}
