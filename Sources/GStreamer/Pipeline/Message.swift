import CGStreamer

/// A message on the bus, from an element to the application (`GstMessage`).
public struct Message: Sendable {
    /// The path of the object that posted the message, from the pipeline on; empty if no object did.
    public let sourcePath: String
    /// The name of the object that posted the message; empty if no object did.
    public let sourceName: String
    /// The name of the factory of the element that posted the message; `nil` if no element did.
    public let sourceFactory: String?
    /// The element that posted the message; `nil` if no element did.
    public let source: Element?
    /// The kind of message, with its content.
    public let kind: Kind

    /// The kind of a message, with its content.
    public enum Kind: Sendable {
        /// All sinks have received EOS.
        case endOfStream
        /// An error; the pipeline can't continue.
        case error(Report)
        /// A warning; the pipeline continues.
        case warning(Report)
        /// A piece of information.
        case info(Report)
        /// The source has changed its state.
        case stateChanged(from: State, to: State)
        /// A state change that went on in the background is complete.
        case asyncDone
        /// The latency of the source has changed.
        case latency
        /// The pipeline's clock can't be used any more.
        case clockLost
        /// How full the source's queue is, in percent.
        case buffering(percent: Int)
        /// A stream begins.
        case streamStart
        /// A buffer was late: by how much, and the element's counts of processed and dropped buffers.
        case qualityOfService(jitter: Duration, processed: UInt64, dropped: UInt64)
        /// A message that the source has defined.
        case element(Structure)
        /// Another kind, with GStreamer's name for it.
        case other(String)
    }

    /// The content of an error, a warning or a piece of information.
    public struct Report: Sendable {
        package let error: GLibError
        /// The place in the source code, and details for developers.
        public let debug: String
        /// Information that the element added for programs; `nil` if there is none.
        public let details: Structure?
    }

    package init(_ message: UnsafeMutablePointer<GstMessage>) {
        if let source = message.pointee.src {
            sourcePath = takeString(gst_object_get_path_string(source)) ?? ""
            sourceName = takeString(gst_object_get_name(source)) ?? ""
            let raw = UnsafeMutableRawPointer(source)
            let isElement =
                g_type_check_instance_is_a(raw.assumingMemoryBound(to: GTypeInstance.self), gst_element_get_type()) != 0
            self.source = isElement ? Element(retaining: raw) : nil
        } else {
            (sourcePath, sourceName, self.source) = ("", "", nil)
        }
        sourceFactory = self.source?.factoryName
        kind = Kind(message)
    }
}

extension Message.Kind {
    fileprivate init(_ message: UnsafeMutablePointer<GstMessage>) {
        switch message.pointee.type {
        case GST_MESSAGE_EOS: self = .endOfStream
        case GST_MESSAGE_ERROR:
            self = .error(Message.Report(message, gst_message_parse_error, gst_message_parse_error_details))
        case GST_MESSAGE_WARNING:
            self = .warning(Message.Report(message, gst_message_parse_warning, gst_message_parse_warning_details))
        case GST_MESSAGE_INFO:
            self = .info(Message.Report(message, gst_message_parse_info, gst_message_parse_info_details))
        case GST_MESSAGE_STATE_CHANGED:
            var (old, new, pending) = (GST_STATE_NULL, GST_STATE_NULL, GST_STATE_NULL)
            gst_message_parse_state_changed(message, &old, &new, &pending)
            self = .stateChanged(from: State(old) ?? .null, to: State(new) ?? .null)
        case GST_MESSAGE_ASYNC_DONE: self = .asyncDone
        case GST_MESSAGE_LATENCY: self = .latency
        case GST_MESSAGE_CLOCK_LOST: self = .clockLost
        case GST_MESSAGE_STREAM_START: self = .streamStart
        case GST_MESSAGE_BUFFERING:
            var percent: gint = 0
            gst_message_parse_buffering(message, &percent)
            self = .buffering(percent: Int(percent))
        case GST_MESSAGE_QOS:
            var jitter: gint64 = 0
            var (processed, dropped): (guint64, guint64) = (0, 0)
            gst_message_parse_qos_values(message, &jitter, nil, nil)
            gst_message_parse_qos_stats(message, nil, &processed, &dropped)
            self = .qualityOfService(
                jitter: .nanoseconds(jitter), processed: UInt64(processed), dropped: UInt64(dropped))
        case GST_MESSAGE_ELEMENT:
            self = gst_message_get_structure(message).map { .element(Structure(copying: $0)) } ?? .other("element")
        default: self = .other(String(cString: gst_message_type_get_name(message.pointee.type)))
        }
    }
}

extension Message.Report {
    fileprivate init(
        _ message: UnsafeMutablePointer<GstMessage>,
        _ parse: (
            UnsafeMutablePointer<GstMessage>?, UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?,
            UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        ) -> Void,
        _ parseDetails: (
            UnsafeMutablePointer<GstMessage>?, UnsafeMutablePointer<UnsafePointer<GstStructure>?>?
        ) -> Void
    ) {
        var error: UnsafeMutablePointer<GError>?
        var debug: UnsafeMutablePointer<CChar>?
        parse(message, &error, &debug)
        self.error = GLibError(taking: error!)
        self.debug = takeString(debug) ?? ""
        var details: UnsafePointer<GstStructure>?
        parseDetails(message, &details)
        self.details = details.map { Structure(copying: $0) }
    }
}
