import CGStreamer
import GStreamer

/// Records what one element writes to GStreamer's debug log, up to the level `info`.
public final class DebugLog: Sendable {
    /// The messages, in order.
    public let messages = Log<String>()
    private let listener: Unmanaged<Listener>
    private let category: String

    private final class Listener: Sendable {
        let element: String
        let messages: Log<String>
        init(_ element: String, _ messages: Log<String>) { (self.element, self.messages) = (element, messages) }
    }

    /// Records from now on, until `stop` is called. The category's messages also appear on standard error.
    public init(of element: String, in category: String) {
        listener = .passRetained(Listener(element, messages))
        self.category = category
        gst_debug_add_log_function(
            { _, _, _, _, _, object, message, context in
                let listener = Unmanaged<Listener>.fromOpaque(context!).takeUnretainedValue()
                guard let object, let text = gst_debug_message_get(message),
                    g_type_check_instance_is_a(
                        UnsafeMutableRawPointer(object).assumingMemoryBound(to: GTypeInstance.self),
                        gst_object_get_type()) != 0,
                    let name = gst_object_get_name(
                        UnsafeMutableRawPointer(object).assumingMemoryBound(to: GstObject.self))
                else { return }
                if String(cString: name) == listener.element { listener.messages.add(String(cString: text)) }
                g_free(name)
            }, listener.toOpaque(), { Unmanaged<Listener>.fromOpaque($0!).release() })
        gst_debug_set_threshold_for_name(category, GST_LEVEL_INFO)
    }

    /// Ends the recording. Call it once.
    public func stop() {
        gst_debug_unset_threshold_for_name(category)
        gst_debug_remove_log_function_by_data(listener.toOpaque())
    }
}
