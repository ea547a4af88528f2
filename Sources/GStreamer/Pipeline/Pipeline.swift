import CGStreamer
import CGStreamerShims

/// A top-level bin with a clock and a bus (`GstPipeline`).
public final class Pipeline: Element, @unchecked Sendable {
    var pipeline: UnsafeMutablePointer<GstPipeline> { raw.assumingMemoryBound(to: GstPipeline.self) }

    /// Creates an empty pipeline.
    public init(name: String? = nil) {
        GStreamerRuntime.initialize()
        super.init(taking: UnsafeMutableRawPointer(gst_pipeline_new(name)))
    }

    /// Creates a pipeline from a description in the syntax of `gst-launch-1.0`.
    ///
    /// Problems that GStreamer calls recoverable throw too: unknown properties, impossible links and missing elements.
    public init(parsing description: String) throws(GLibError) {
        GStreamerRuntime.initialize()
        var error: UnsafeMutablePointer<GError>?
        guard let element = cgst_parse_launch(description, &error) else { throw GLibError(taking: error!) }
        let parsed = ObjectReference(taking: element)
        // GStreamer returns the element itself if the description has only one.
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

    /// Adds an element.
    public func add(_ element: Element) { gst_bin_add(bin, element.element) }

    /// Removes an element. Set it to NULL first, or it keeps running.
    public func remove(_ element: Element) { gst_bin_remove(bin, element.element) }

    /// Returns the element with this name, at any depth; `nil` if there is none.
    public func element(named name: String) -> Element? {
        gst_bin_get_by_name(bin, name).map { Element(taking: $0) }
    }

    /// The elements directly in the pipeline, sources first.
    public var elements: [Element] { collect(gst_bin_iterate_sorted(bin), Element.init(retaining:)).reversed() }

    /// The sinks directly in the pipeline, and the bins with sinks, in the order of the description.
    public var sinks: [Element] {
        // A bin adds each new child at the front.
        collect(gst_bin_iterate_sinks(bin), Element.init(retaining:)).reversed()
    }

    /// The elements at any depth, bins before their children.
    public var allElements: [Element] {
        let all = Set(collect(gst_bin_iterate_recurse(bin), Element.init(retaining:)))
        // GStreamer's recursive iterator has no defined order. Return the top level first, sources first, then the
        // rest.
        let top = elements
        return top + all.subtracting(top).sorted { $0.path < $1.path }
    }

    /// Calls `handler` with every message, on the thread that posts it. `handler` must be quick and must not block.
    /// Replaces the previous handler.
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

    /// Removes the handler that ``onMessage(_:)`` has set.
    public func removeMessageHandler() {
        let bus = gst_pipeline_get_bus(pipeline)
        defer { gst_object_unref(bus) }
        gst_bus_set_sync_handler(bus, nil, nil, nil)
    }

    private final class MessageHandler: Sendable {
        let handle: @Sendable (Message) -> Void
        init(_ handle: @escaping @Sendable (Message) -> Void) { self.handle = handle }
    }

    /// Queries the latency of all elements and distributes the result. Call it for each ``Message/Kind/latency``
    /// message.
    public func recalculateLatency() { gst_bin_recalculate_latency(bin) }

    /// The graph as text for Graphviz, with all details.
    public var dotGraph: String {
        takeString(gst_debug_bin_to_dot_data(bin, GstDebugGraphDetails(rawValue: GST_DEBUG_GRAPH_SHOW_ALL.rawValue)))
            ?? ""
    }

    /// Writes the graph to `$GST_DEBUG_DUMP_DOT_DIR/name.dot`. Does nothing if that variable isn't set.
    public func dumpDotFile(_ name: String) {
        gst_debug_bin_to_dot_file(bin, GST_DEBUG_GRAPH_SHOW_ALL, name)
    }
}
