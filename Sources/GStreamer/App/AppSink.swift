import CGStreamer

/// Receives what arrives at an `appsink`. The methods are called on the streaming thread, one at a time, in stream
/// order.
///
/// A class rather than a protocol: a call through an existential costs 60 more instructions per frame, to count
/// references.
///
/// `@unchecked Sendable`: this class has no state; a subclass says what protects its own.
open class AppSinkDelegate: @unchecked Sendable {
    /// Creates a delegate that accepts everything and does nothing.
    public init() {}

    /// Called for each sample, on the streaming thread. Returns what upstream gets as the result of its push: `.ok`
    /// continues the stream. Does nothing by default, and returns `.ok`.
    open func received(_ sample: borrowing Sample) -> FlowReturn { .ok }

    /// Called for each serialized event, on the streaming thread. Does nothing by default.
    open func received(_ event: StreamEvent) {}

    /// Called when the stream has ended, on the streaming thread. Does nothing by default.
    open func reachedEndOfStream() {}
}

/// An `appsink` element.
package final class AppSink: Element, @unchecked Sendable {
    private var sink: UnsafeMutablePointer<GstAppSink> { raw.assumingMemoryBound(to: GstAppSink.self) }

    /// Creates an `appsink`; `nil` if the `app` plugin of gst-plugins-base isn't installed.
    package init?(name: String? = nil) {
        GStreamerRuntime.initialize()
        guard let raw = gst_element_factory_make("appsink", name) else { return nil }
        super.init(taking: raw)
    }

    /// Wraps an existing `appsink`; `nil` for any other element.
    package init?(_ element: Element) {
        guard element.typeName == "GstAppSink" else { return nil }
        super.init(retaining: element.raw)
    }

    /// Passes samples, events and the end of the stream to `delegate`, which the appsink retains. Call it before data
    /// flows.
    package func setDelegate(_ delegate: AppSinkDelegate) {
        var callbacks = GstAppSinkCallbacks()
        callbacks.new_sample = { sink, context in
            guard let sample = gst_app_sink_pull_sample(sink) else { return GST_FLOW_EOS }
            return Unmanaged<AppSinkDelegate>.fromOpaque(context!)._withUnsafeGuaranteedRef {
                $0.received(Sample(taking: sample)).raw
            }
        }
        callbacks.new_event = { sink, context in
            // Empty the queue: otherwise events would pile up while no buffer arrives. Take all of them each time,
            // because GStreamer 1.22 queues a CAPS event twice. Returning 0 lets the sink handle the event too.
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

    /// Releases the delegate, to break the cycle if it retains the appsink. Don't call it while data flows.
    package func removeDelegate() {
        var none = GstAppSinkCallbacks()
        gst_app_sink_set_callbacks(sink, &none, nil, nil)
    }

    /// Waits for the next sample; `nil` if none arrives in time, or if the stream has ended. For an appsink without a
    /// delegate, on a thread that may block.
    package func pull(timeout: Duration) -> Sample? {
        gst_app_sink_try_pull_sample(sink, GstClockTime(timeout.nanoseconds)).map { Sample(taking: $0) }
    }

    /// Runs `body` without the preroll lock, which the sink's state changes need. Meanwhile the current sample counts
    /// as the one that the sink has prerolled with. A delegate calls it from `received(_:)`. Returns false if a flush
    /// or a stop has begun meanwhile.
    ///
    /// `gst_base_sink_wait_preroll` doesn't fit: it returns at a change to PLAYING, which may have happened before.
    package func leavePrerollLock(_ body: () -> Void) -> Bool {
        let sink = raw.assumingMemoryBound(to: GstBaseSink.self)
        sink.pointee.have_preroll = 1
        g_mutex_unlock(&sink.pointee.preroll_lock)
        body()
        g_mutex_lock(&sink.pointee.preroll_lock)
        sink.pointee.have_preroll = 0
        return sink.pointee.flushing == 0
    }

    /// Whether the stream has ended and all its samples have been pulled.
    package var hasEnded: Bool { gst_app_sink_is_eos(sink) != 0 }

    /// Sets the caps that the sink accepts, in order of preference.
    package func setCaps(_ caps: Caps) { gst_app_sink_set_caps(sink, caps.raw) }

    /// Sets how long rendering a buffer may take. The sink adds this time to the latency of a live pipeline.
    package func setProcessingDeadline(_ time: Duration) {
        gst_base_sink_set_processing_deadline(
            raw.assumingMemoryBound(to: GstBaseSink.self), GstClockTime(time.nanoseconds))
    }

    /// Sets whether the sink keeps the last buffer until the next one, for its property `last-sample`.
    package func setKeepsLastSample(_ on: Bool) {
        gst_base_sink_set_last_sample_enabled(raw.assumingMemoryBound(to: GstBaseSink.self), on ? 1 : 0)
    }

    /// Sets whether the change to PAUSED waits for a first buffer.
    package func setPrerolls(_ on: Bool) {
        gst_base_sink_set_async_enabled(raw.assumingMemoryBound(to: GstBaseSink.self), on ? 1 : 0)
    }

    /// Sets whether buffers wait for their time on the clock.
    package func setSynchronized(_ on: Bool) {
        gst_base_sink_set_sync(raw.assumingMemoryBound(to: GstBaseSink.self), on ? 1 : 0)
    }
}

/// A serialized event that travels downstream.
public enum StreamEvent: Sendable {
    /// A stream begins.
    case streamStart(StreamStart)
    /// The format of the buffers that follow.
    case caps(Caps)
    /// The segment to which the timestamps that follow belong.
    case segment
    /// A stretch of time without data; the duration is `nil` if unknown.
    case gap(timestamp: ClockTime?, duration: Duration?)
    /// A tag that gives the orientation of the pictures.
    case orientation(OrientationTag)
    /// A custom event's structure.
    case custom(Structure)
    /// Any other serialized event.
    case other

    init?(_ event: UnsafeMutablePointer<GstEvent>) {
        switch event.pointee.type {
        case GST_EVENT_STREAM_START:
            self = .streamStart(StreamStart(retaining: event))
        case GST_EVENT_CAPS:
            guard let caps = Caps(of: event) else { return nil }
            self = .caps(caps)
        case GST_EVENT_SEGMENT: self = .segment
        case GST_EVENT_TAG: self = OrientationTag(event).map { .orientation($0) } ?? .other
        case GST_EVENT_GAP:
            var timestamp: GstClockTime = 0
            var duration: GstClockTime = 0
            gst_event_parse_gap(event, &timestamp, &duration)
            self = .gap(timestamp: ClockTime(raw: timestamp), duration: Duration(raw: duration))
        case GST_EVENT_CUSTOM_DOWNSTREAM, GST_EVENT_CUSTOM_DOWNSTREAM_STICKY:
            guard let structure = gst_event_get_structure(event) else { return nil }
            self = .custom(Structure(copying: structure))
        default: self = .other
        }
    }
}
