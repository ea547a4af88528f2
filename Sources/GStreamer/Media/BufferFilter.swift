import CGStreamer
import Synchronization

/// Why a `BufferFilter` can't be made, or gave no buffer. Each says which element it is about.
public enum BufferFilterError: Error, Sendable, Equatable, CustomStringConvertible {
    /// There is no such element on this machine.
    case noSuchElement(String)
    /// Not an element with one always-present pad `sink` and one `src`.
    case wrongPads(String)
    case cannotStart(String, reason: String)
    /// The element doesn't take these caps, or can't make anything of them.
    case refused(String, caps: String, accepted: String)
    /// The element failed on a buffer.
    case failed(String, flow: FlowReturn, reason: String)
    /// It kept the buffer to itself, or made several of it.
    case notOneBuffer(String, count: Int)

    public var description: String {
        switch self {
        case .noSuchElement(let element): "no element \"\(element)\" on this machine"
        case .wrongPads(let element): "\(element) has not just one sink and one src pad"
        case .cannotStart(let element, let reason): "\(element) can't start: \(reason)"
        case .refused(let element, let caps, let accepted): "\(element) takes \(accepted), not \(caps)"
        case .failed(let element, let flow, let reason):
            "\(element) failed (\(flow))" + (reason.isEmpty ? "" : ": \(reason)")
        case .notOneBuffer(let element, let count): "\(element) gave \(count) buffers at once for one"
        }
    }
}

/// An element with one sink and one source pad (`videoflip`, say) as a function from buffer to buffer.
///
/// The element has no bin, no clock and no thread: `apply` pushes a buffer into it and has what comes out when it returns,
/// on the caller's thread. For elements that give one buffer for each at once; one that waits for another buffer, or for a
/// clock, is no such function. Events of a stream (tags, gaps, QoS) never reach it, so an image-orientation tag doesn't
/// either.
///
/// Belongs to one thread at a time.
public final class BufferFilter {
    /// What a property of the element is set by; `set` is shorter.
    public let element: Element
    private let factory: String
    private let input: UnsafeMutablePointer<GstPad>
    private let output: UnsafeMutablePointer<GstPad>
    private let bus: UnsafeMutablePointer<GstBus>
    private let outlet = Outlet()
    /// What the element has been told; compared by identity for each buffer.
    private var inputCaps: Caps?
    private var hasStarted = false

    /// What the element's source pad has pushed. Locked: an element that isn't such a function may have a thread of its own.
    private final class Outlet {
        struct State {
            var caps: Caps?
            var buffer: UnmanagedBuffer?
            var count = 0
            /// The one that pushes. What another pushes may be for any buffer.
            var thread: UInt = 0
        }

        private let state = Mutex(State())

        static func of(_ data: UnsafeMutableRawPointer?) -> Outlet {
            Unmanaged<Outlet>.fromOpaque(data!).takeUnretainedValue()
        }

        deinit { _ = close().buffer?.take() }

        var caps: Caps? {
            get { state.withLock { $0.caps } }
            set { state.withLock { $0.caps = newValue } }
        }

        func receive(_ buffer: consuming Buffer) {
            let buffer = UnmanagedBuffer(buffer)
            let superfluous = state.withLock { state in
                guard state.thread == currentThread() else { return Optional(buffer) }
                state.count += 1
                defer { state.buffer = buffer }
                return state.buffer
            }
            _ = superfluous?.take()
        }

        /// From now on buffers count that come on this thread.
        func open() { state.withLock { $0.thread = currentThread() } }

        /// The last buffer since `open`, and how many there were.
        func close() -> (buffer: UnmanagedBuffer?, count: Int) {
            state.withLock { state in
                defer {
                    state.buffer = nil
                    state.count = 0
                    state.thread = 0
                }
                return (state.buffer, state.count)
            }
        }
    }

    /// Makes the element. It starts with the first buffer: until then properties that are locked while it runs can be set.
    /// `sinkPad` is for elements that call theirs otherwise.
    public convenience init(_ factory: String, sinkPad: String = "sink") throws(BufferFilterError) {
        guard let element = Element(factory: factory) else { throw .noSuchElement(factory) }
        try self.init(element, called: factory, sinkPad: sinkPad)
    }

    /// Several elements as one, from a description in `gst-launch-1.0` syntax with one end open on either side.
    public convenience init(parsing description: String) throws(BufferFilterError) {
        GStreamerRuntime.initialize()
        var error: UnsafeMutablePointer<GError>?
        let bin = gst_parse_bin_from_description_full(description, 1, nil, GST_PARSE_FLAG_FATAL_ERRORS, &error)
        let element = bin.map { Element(taking: UnsafeMutableRawPointer($0)) }
        if let error { throw .cannotStart(description, reason: GLibError(taking: error).message) }
        guard let element else { throw .wrongPads(description) }
        try self.init(element, called: description, sinkPad: "sink")
    }

    private init(_ element: Element, called factory: String, sinkPad: String) throws(BufferFilterError) {
        guard let sink = element.staticPad(sinkPad), let source = element.staticPad("src"),
            sink.direction == .sink, source.direction == .source
        else { throw .wrongPads(factory) }
        self.factory = factory
        self.element = element
        input = gst_pad_new("input", GST_PAD_SRC)
        output = gst_pad_new("output", GST_PAD_SINK)
        bus = gst_bus_new()
        for pad in [input, output] { gst_object_ref_sink(pad) }
        // Only what went wrong is kept.
        gst_bus_set_sync_handler(
            bus,
            { _, message, _ in
                if [GST_MESSAGE_ERROR, GST_MESSAGE_WARNING].contains(message!.pointee.type) { return GST_BUS_PASS }
                gst_message_unref(message)
                return GST_BUS_DROP
            }, nil, nil)
        gst_element_set_bus(element.element, bus)
        collectOutput()
        gst_pad_link(input, sink.pad)
        gst_pad_link(source.pad, output)
        gst_pad_set_active(output, 1)
        gst_pad_set_active(input, 1)
    }

    deinit {
        element.setState(.null)
        gst_element_set_bus(element.element, nil)
        for pad in [input, output] {
            gst_pad_set_active(pad, 0)
            if let peer = gst_pad_get_peer(pad) {
                if pad == input { gst_pad_unlink(pad, peer) } else { gst_pad_unlink(peer, pad) }
                gst_object_unref(peer)
            }
            gst_object_unref(pad)
        }
        gst_object_unref(bus)
    }

    private func collectOutput() {
        let context = Unmanaged.passUnretained(outlet).toOpaque()
        gst_pad_set_chain_function_full(
            output,
            { pad, _, buffer in
                Outlet.of(pad!.pointee.chaindata).receive(Buffer(taking: buffer!))
                return GST_FLOW_OK
            }, context, nil)
        gst_pad_set_event_function_full(
            output,
            { pad, parent, event in
                if event!.pointee.type == GST_EVENT_CAPS {
                    var caps: UnsafeMutablePointer<GstCaps>?
                    gst_event_parse_caps(event, &caps)
                    Outlet.of(pad!.pointee.eventdata).caps = caps.map(Caps.init(retaining:))
                }
                gst_event_unref(event)
                return 1
            }, context, nil)
        // Anything goes: the default would insist on the caps that are there, and allow no change.
        gst_pad_set_query_function_full(
            output,
            { _, _, query in
                switch query!.pointee.type {
                case GST_QUERY_CAPS:
                    var filter: UnsafeMutablePointer<GstCaps>?
                    gst_query_parse_caps(query, &filter)
                    let any = filter.map { gst_caps_ref($0) } ?? gst_caps_new_any()
                    gst_query_set_caps_result(query, any)
                    gst_caps_unref(any)
                    return 1
                case GST_QUERY_ACCEPT_CAPS:
                    gst_query_set_accept_caps_result(query, 1)
                    return 1
                default: return 0
                }
            }, nil, nil)
    }

    /// Sets a property of the element from text, as a description would. It counts from the next buffer on, and may change
    /// `outputCaps` with it: `set("video-direction", to: "90r")` swaps width and height.
    public func set(_ property: String, to text: String) throws(PropertyError) {
        try element.setProperty(property, parsing: text)
    }

    /// What the element gives; `nil` before the first buffer. The same object until it changes.
    public var outputCaps: Caps? { outlet.caps }

    /// The element's buffer for this one, whose caps are `caps`; it may be the very same.
    ///
    /// A buffer that nobody else holds may be edited in place. After an error the filter goes on with the next buffer.
    public func apply(_ buffer: consuming Buffer, caps: Caps) throws(BufferFilterError) -> Buffer {
        if caps.raw != inputCaps?.raw { try announce(caps) }
        outlet.open()
        let flow = gst_pad_push(input, buffer.take())
        let (result, count) = outlet.close()
        // A GstVideoFilter that can't map its input gives a buffer full of nothing, and a warning.
        guard flow == GST_FLOW_OK, count == 1, let result, gst_bus_have_pending(bus) == 0 else {
            _ = result?.take()
            throw failure(FlowReturn(flow), caps, count: count)
        }
        return result.take()
    }

    private func announce(_ caps: Caps) throws(BufferFilterError) {
        let isFirst = !hasStarted
        if isFirst {
            guard element.setState(.paused) != .failure else { throw .cannotStart(factory, reason: takeReason()) }
            gst_pad_push_event(input, gst_event_new_stream_start("buffer-filter"))
            hasStarted = true
        }
        // Not until they are taken: the next buffer asks again.
        inputCaps = nil
        let isTaken = gst_pad_push_event(input, gst_event_new_caps(caps.raw)) != 0
        if isFirst {
            // After the caps: that is the order of a stream's events.
            var segment = GstSegment()
            gst_segment_init(&segment, GST_FORMAT_TIME)
            gst_pad_push_event(input, gst_event_new_segment(&segment))
        }
        guard isTaken else { throw refusal(caps) }
        inputCaps = caps
    }

    private func refusal(_ caps: Caps) -> BufferFilterError {
        _ = takeReason()
        let accepted = element.staticPad("sink")?.queryCaps()
        return .refused(factory, caps: "\(caps)", accepted: accepted.map { "\($0)" } ?? "nothing")
    }

    private func failure(_ flow: FlowReturn, _ caps: Caps, count: Int) -> BufferFilterError {
        if flow == .notNegotiated {
            inputCaps = nil
            return refusal(caps)
        }
        let reason = takeReason()
        guard [.ok, .dropped].contains(flow), reason.isEmpty else {
            return .failed(factory, flow: flow, reason: reason)
        }
        return .notOneBuffer(factory, count: count)
    }

    /// What the element said on its bus, and nothing is left there.
    private func takeReason() -> String {
        var reason = ""
        while let message = gst_bus_pop(bus) {
            switch Message(message).kind {
            case .error(let report): reason = report.text
            case .warning(let report) where reason.isEmpty: reason = report.text
            default: break
            }
            gst_message_unref(message)
        }
        return reason
    }
}

extension Message.Report {
    /// The message; elements that have none of their own put what they have to say into the debug text's last line.
    fileprivate var text: String {
        let detail = debug.split(separator: "\n").last.map { ": \($0)" } ?? ""
        return error.message + detail
    }
}

extension BufferFilter {
    /// A single picture, made upright, in the layout that is usual for its new size. In formats that `videoflip` takes, such as
    /// RGB and RGBA.
    public static func turned(
        _ buffer: consuming Buffer, _ info: VideoInfo, by orientation: VideoOrientation
    ) throws -> Buffer {
        let filter = try BufferFilter("videoflip")
        try filter.set("video-direction", to: orientation.videoDirection)
        return try filter.apply(buffer, caps: info.caps)
    }
}
