import CGStreamer
import CGStreamerShims

/// A top-level bin with a clock and a bus.
public final class Pipeline: Element, @unchecked Sendable {
    var pipeline: UnsafeMutablePointer<GstPipeline> { raw.assumingMemoryBound(to: GstPipeline.self) }

    /// An empty pipeline.
    public init(name: String? = nil) {
        GStreamerRuntime.initialize()
        super.init(taking: UnsafeMutableRawPointer(gst_pipeline_new(name)))
    }

    /// A pipeline from a description in `gst-launch-1.0` syntax. Every problem that GStreamer calls recoverable is an
    /// error here: unknown properties, impossible links, missing elements.
    public init(parsing description: String) throws(GLibError) {
        GStreamerRuntime.initialize()
        var error: UnsafeMutablePointer<GError>?
        guard let element = cgst_parse_launch(description, &error) else { throw GLibError(taking: error!) }
        let parsed = ObjectReference(taking: element)
        // A description of one element yields that element.
        if g_type_check_instance_is_a(parsed.raw.assumingMemoryBound(to: GTypeInstance.self), gst_pipeline_get_type())
            != 0
        {
            super.init(retaining: parsed.raw)
        } else {
            super.init(taking: UnsafeMutableRawPointer(gst_pipeline_new(nil)))
            gst_bin_add(raw.assumingMemoryBound(to: GstBin.self), element)
        }
    }

    private var bin: UnsafeMutablePointer<GstBin> { raw.assumingMemoryBound(to: GstBin.self) }

    public func add(_ element: Element) { gst_bin_add(bin, element.element) }

    /// Takes an element out; in NULL, or it goes on by itself.
    public func remove(_ element: Element) { gst_bin_remove(bin, element.element) }

    /// The element of that name, at any depth.
    public func element(named name: String) -> Element? {
        gst_bin_get_by_name(bin, name).map { Element(taking: $0) }
    }

    /// The elements directly in the pipeline, sources first.
    public var elements: [Element] { collect(gst_bin_iterate_sorted(bin)).reversed() }

    /// The sinks directly in the pipeline, and bins that end in one, in the order of the description.
    public var sinks: [Element] {
        // A bin puts each new child first.
        collect(gst_bin_iterate_sinks(bin)).reversed()
    }

    /// The elements at any depth, bins before what they hold.
    public var allElements: [Element] {
        let all = Set(collect(gst_bin_iterate_recurse(bin)))
        // GStreamer's recursion has no order of its own: top level first, sources first, then the rest.
        let top = elements
        return top + all.subtracting(top).sorted { $0.path < $1.path }
    }

    /// Hands every message to `handler`, on the thread that posts it: it must be quick and must not block.
    public func onMessage(_ handler: @escaping @Sendable (Message) -> Void) {
        let bus = gst_pipeline_get_bus(pipeline)
        defer { gst_object_unref(bus) }
        let box = Unmanaged.passRetained(MessageHandler(handler)).toOpaque()
        gst_bus_set_sync_handler(
            bus,
            { _, message, context in
                let handler = Unmanaged<MessageHandler>.fromOpaque(context!).takeUnretainedValue()
                handler.handle(Message(message!))
                gst_message_unref(message)
                return GST_BUS_DROP
            }, box, { Unmanaged<MessageHandler>.fromOpaque($0!).release() })
    }

    /// No message goes to the handler any more.
    public func removeMessageHandler() {
        let bus = gst_pipeline_get_bus(pipeline)
        defer { gst_object_unref(bus) }
        gst_bus_set_sync_handler(bus, nil, nil, nil)
    }

    private final class MessageHandler: Sendable {
        let handle: @Sendable (Message) -> Void
        init(_ handle: @escaping @Sendable (Message) -> Void) { self.handle = handle }
    }

    /// Asks every element for its latency anew and spreads the result; called for each `latency` message.
    public func recalculateLatency() { gst_bin_recalculate_latency(bin) }

    /// The graph as Graphviz text, with all details.
    public var dotGraph: String {
        takeString(gst_debug_bin_to_dot_data(bin, GstDebugGraphDetails(rawValue: GST_DEBUG_GRAPH_SHOW_ALL.rawValue)))
            ?? ""
    }

    /// Writes the graph to `$GST_DEBUG_DUMP_DOT_DIR/name.dot`, when that variable is set.
    public func dumpDotFile(_ name: String) {
        gst_debug_bin_to_dot_file(bin, GST_DEBUG_GRAPH_SHOW_ALL, name)
    }
}
