import CGStreamer
import Synchronization

/// An error of a `BufferFilter`. The first value of each case is the element's factory name, or the description.
package enum BufferFilterError: Error, Sendable, Equatable, CustomStringConvertible {
    /// No such element is installed.
    case noSuchElement(String)
    /// The element doesn't have exactly one sink pad and one source pad that always exist.
    case wrongPads(String)
    /// The element can't be created from the description, or doesn't reach PAUSED.
    case cannotStart(String, reason: String)
    /// The element doesn't accept these caps, or can't produce any output from them.
    case refused(String, caps: String, accepted: String)
    /// The element failed on a buffer.
    case failed(String, flow: FlowReturn, reason: String)
    /// The element produced no buffer, or several, for one input buffer.
    case notOneBuffer(String, count: Int)

    package var description: String {
        switch self {
        case .noSuchElement(let element): "no element \"\(element)\" is installed"
        case .wrongPads(let element): "\(element) must have exactly one sink pad and one src pad"
        case .cannotStart(let element, let reason): "\(element) can't start: \(reason)"
        case .refused(let element, let caps, let accepted): "\(element) accepts \(accepted), not \(caps)"
        case .failed(let element, let flow, let reason):
            "\(element) failed (\(flow))" + (reason.isEmpty ? "" : ": \(reason)")
        case .notOneBuffer(let element, let count): "\(element) produced \(count) buffers for one"
        }
    }
}

/// Uses an element with one sink pad and one source pad, such as `videoflip`, as a function from buffer to buffer.
///
/// The element has no bin, clock or thread: `apply` pushes a buffer into the element on the caller's thread and returns
/// the buffer that the element pushes meanwhile. The element must push exactly one buffer for each input buffer without
/// waiting for another buffer or for a clock. The element receives no events of the stream such as tags, gaps and QoS,
/// so an image-orientation tag has no effect.
///
/// Use it on one thread at a time.
package final class BufferFilter {
    /// The element, for access to its properties. `set` is shorter for setting one from text.
    package let element: Element
    private let factory: String
    private let sink: Pad
    private let input: UnsafeMutablePointer<GstPad>
    private let output: UnsafeMutablePointer<GstPad>
    private let bus: UnsafeMutablePointer<GstBus>
    private let outlet = Outlet()
    /// The caps that the element has accepted; compared by identity for each buffer.
    private var inputCaps: Caps?
    private var hasStarted = false

    /// Receives the caps and buffers that the element's source pad pushes. Behind a lock, because an unsuitable element
    /// may push from a thread of its own.
    private final class Outlet {
        struct State {
            var caps: Caps?
            var buffer: UnmanagedBuffer?
            var count = 0
            /// The thread that calls `apply`. Buffers from other threads are ignored: they may belong to any input
            /// buffer.
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
            let discarded = state.withLock { state in
                guard state.thread == currentThreadID() else { return Optional(buffer) }
                state.count += 1
                defer { state.buffer = buffer }
                return state.buffer
            }
            _ = discarded?.take()
        }

        /// Starts to accept buffers from the calling thread.
        func open() { state.withLock { $0.thread = currentThreadID() } }

        /// Stops accepting buffers. Returns the last buffer since `open`, and the number of buffers.
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

    /// Creates the element. The element starts with the first buffer, so that properties that are locked while it runs
    /// can be set before. `sinkPad` is the name of the element's sink pad.
    package convenience init(_ factory: String, sinkPad: String = "sink") throws(BufferFilterError) {
        guard let element = Element(factory: factory) else { throw .noSuchElement(factory) }
        try self.init(element, called: factory, sinkPad: sinkPad)
    }

    /// Creates a bin from a description in `gst-launch-1.0` syntax with one unlinked sink pad and one unlinked source
    /// pad.
    package convenience init(parsing description: String) throws(BufferFilterError) {
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
        self.sink = sink
        input = gst_pad_new("input", GST_PAD_SRC)
        output = gst_pad_new("output", GST_PAD_SINK)
        bus = gst_bus_new()
        for pad in [input, output] { gst_object_ref_sink(pad) }
        // Keeps errors and warnings only.
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
                if let caps = Caps(of: event!) { Outlet.of(pad!.pointee.eventdata).caps = caps }
                gst_event_unref(event)
                return 1
            }, context, nil)
        // Accepts any caps: the default handlers accept only the pad's current caps, so the format could never change.
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

    /// Sets a property of the element from text, as in a description. Takes effect with the next buffer, which may also
    /// change `outputCaps`: `set("video-direction", to: "90r")` swaps width and height.
    package func set(_ property: String, to text: String) throws(PropertyError) {
        try element.setProperty(property, parsing: text)
    }

    /// The caps of the element's output; `nil` before the first buffer. The same object as long as the caps don't
    /// change.
    package var outputCaps: Caps? { outlet.caps }

    /// Pushes a buffer with the caps `caps` into the element, and returns the element's output buffer, which may be the
    /// same buffer.
    ///
    /// The element may edit the buffer in place if this is the only reference. After an error, the filter can be used
    /// for the next buffer.
    package func apply(_ buffer: consuming Buffer, caps: Caps) throws(BufferFilterError) -> Buffer {
        if caps.raw != inputCaps?.raw { try announce(caps) }
        outlet.open()
        let flow = gst_pad_push(input, buffer.take())
        let (result, count) = outlet.close()
        // A GstVideoFilter that can't map its input posts a warning and outputs a buffer without a picture.
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
        // Stays nil if the element refuses the caps, so that the next buffer sends them again.
        inputCaps = nil
        let isAccepted = gst_pad_push_event(input, gst_event_new_caps(caps.raw)) != 0
        if isFirst {
            // GStreamer requires the order STREAM_START, CAPS, SEGMENT.
            gst_pad_push_event(input, Segment().newEvent())
        }
        guard isAccepted else { throw refusal(caps) }
        inputCaps = caps
    }

    private func refusal(_ caps: Caps) -> BufferFilterError {
        _ = takeReason()
        return .refused(factory, caps: "\(caps)", accepted: "\(sink.queryCaps())")
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

    /// Empties the element's bus, and returns the text of its last error, or otherwise of its first warning.
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
    /// The error's message and the last line of its debug text, in which elements with a generic message give the
    /// reason.
    fileprivate var text: String {
        let detail = debug.split(separator: "\n").last.map { ": \($0)" } ?? ""
        return error.message + detail
    }
}

extension BufferFilter {
    /// Returns a picture turned by `orientation`, in GStreamer's default layout for the new size. The format must be
    /// one that `videoflip` accepts, such as RGB or RGBA.
    package static func turned(
        _ buffer: consuming Buffer, _ info: VideoInfo, by orientation: VideoOrientation
    ) throws -> Buffer {
        let filter = try BufferFilter("videoflip")
        try filter.set("video-direction", to: orientation.videoDirection)
        return try filter.apply(buffer, caps: info.caps)
    }
}
