import CGStreamer
import Foundation
import GStreamer
import MediaGraph

// What GST_PLUGIN_DEFINE expands to in C, in Swift: GStreamer looks up `gst_plugin_<file name>_get_desc` in
// libgst<file name>.so.

/// Kept for the life of the process, as GStreamer requires. `@unchecked Sendable`: never written after it is made.
private struct Descriptor: @unchecked Sendable {
    let raw: UnsafePointer<GstPluginDesc>
}

private let descriptor: Descriptor = {
    /// C strings that live for ever.
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
    // "MIT" alone is unknown to GStreamer.
    description.license = constant("MIT/X11")
    description.source = constant("mediagraph")
    description.package = constant("MediaGraph")
    description.origin = constant("https://github.com/mediagraph/mediagraph")
    raw.initialize(to: description)
    return Descriptor(raw: UnsafePointer(raw))
}()

/// What GStreamer looks up in the plugin's file (`GstPluginDesc`).
@c(gst_plugin_mediagraph_get_desc)
public func pluginDescriptor() -> UnsafePointer<GstPluginDesc> { descriptor.raw }

/// On standard error: a debug category nobody has switched on would hide it.
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
        // The nodes work without it; whoever names one of its handlers is told what there is.
        warn("MEDIAGRAPH_HANDLERS: \(error)")
    }
    return true
}
