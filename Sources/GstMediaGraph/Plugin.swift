import CGStreamer
import Foundation
import GStreamer
import MediaGraph

// The Swift equivalent of the C macro GST_PLUGIN_DEFINE. GStreamer looks up `gst_plugin_<name>_get_desc` in
// libgst<name>.so.

/// The plugin's description, which GStreamer requires to live as long as the process. `@unchecked Sendable`: never
/// written after it is made.
private struct Descriptor: @unchecked Sendable {
    let raw: UnsafePointer<GstPluginDesc>
}

private let descriptor: Descriptor = {
    /// Returns a C string that lives as long as the process.
    func constant(_ text: StaticString) -> UnsafePointer<CChar> {
        UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }
    let raw = UnsafeMutablePointer<GstPluginDesc>.allocate(capacity: 1)
    var description = GstPluginDesc()
    description.major_version = GST_VERSION_MAJOR
    description.minor_version = GST_VERSION_MINOR
    description.name = constant("mediagraph")
    description.description = constant("Conferencing SDKs' raw media callbacks as elements")
    description.plugin_init = { plugin in initialize(plugin!) ? 1 : 0 }
    description.version = constant("0.1.0")
    // GStreamer doesn't know "MIT" alone.
    description.license = constant("MIT/X11")
    description.source = constant("mediagraph")
    description.package = constant("MediaGraph")
    description.origin = constant("https://github.com/mediagraph/mediagraph")
    raw.initialize(to: description)
    return Descriptor(raw: UnsafePointer(raw))
}()

/// Returns the plugin's `GstPluginDesc`. GStreamer looks up this symbol in the plugin's file.
@c(gst_plugin_mediagraph_get_desc)
public func pluginDescriptor() -> UnsafePointer<GstPluginDesc> { descriptor.raw }

/// Logs a warning, and also prints it on standard error, because the debug category is off by default.
private func warn(_ text: String) {
    log.log(.warning, nil, text)
    FileHandle.standardError.write(Data("mediagraph: \(text)\n".utf8))
}

private let log = DebugCategory("mediagraph", "MediaGraph plugin")

private func initialize(_ plugin: OpaquePointer) -> Bool {
    do {
        try Nodes.register(in: Plugin(plugin))
    } catch {
        log.log(.error, nil, "\(error)")
        return false
    }
    do {
        try HandlerRegistry.shared.loadFromEnvironment()
    } catch {
        // The nodes work without these handlers. A description that names one gets an error that lists the available
        // ones.
        warn("MEDIAGRAPH_HANDLERS: \(error)")
    }
    return true
}
