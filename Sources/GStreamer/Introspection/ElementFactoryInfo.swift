import CGStreamer
import CGStreamerShims

/// What the registry and an element's class say about it, without making one (except where a member says so).
public struct ElementFactoryInfo: Sendable, Hashable {
    /// The factory's name, as written in a description.
    public let name: String
    package let type: GType

    /// Whether the registry knows the name, and the element's class.
    public enum Lookup: Sendable, Hashable {
        case found(ElementFactoryInfo)
        /// The registry lists it, but its plugin can't be loaded: a library that it needs is missing, say.
        case notLoadable
        case unknown
    }

    /// Looks `name` up and loads its plugin. Any thread; costs what loading the plugin costs, the first time.
    public static func lookUp(_ name: String) -> Lookup {
        GStreamerRuntime.initialize()
        var exists: gboolean = 0
        let type = cgst_element_factory_type(name, &exists)
        if type != 0 { return .found(ElementFactoryInfo(name: name, type: type)) }
        return exists != 0 ? .notLoadable : .unknown
    }

    /// The factory with this name; `nil` when there is none or its plugin can't be loaded.
    public static func find(_ name: String) -> ElementFactoryInfo? {
        if case .found(let info) = lookUp(name) { info } else { nil }
    }

    /// The names of all element factories that this process knows, sorted.
    public static var allNames: [String] {
        GStreamerRuntime.initialize()
        let list = gst_registry_get_feature_list(gst_registry_get(), cgst_type_element_factory())
        defer { gst_plugin_feature_list_free(list) }
        var names: [String] = []
        var node = list
        while let item = node {
            names.append(
                takeString(gst_object_get_name(item.pointee.data.assumingMemoryBound(to: GstObject.self))) ?? "")
            node = item.pointee.next
        }
        return names.sorted()
    }

    /// Has elements that choose others by rank, such as `autovideosink`, leave this one out, in this process. Whoever names it
    /// gets it all the same. Nothing happens where there is no such factory.
    public static func rankOut(_ name: String) {
        GStreamerRuntime.initialize()
        guard let factory = gst_element_factory_find(name) else { return }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        gst_plugin_feature_set_rank(factory, UInt32(GST_RANK_NONE.rawValue))
    }

    /// What elements that choose others go by, the highest first; 0 for none. `nil` where there is no such factory.
    public static func rank(of name: String) -> UInt32? {
        GStreamerRuntime.initialize()
        guard let factory = gst_element_factory_find(name) else { return nil }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        return gst_plugin_feature_get_rank(factory)
    }

    /// The name of the element's GType.
    public var typeName: String { String(cString: g_type_name(type)) }

    /// What GStreamer calls an element of this class that was given no name, without the number at its end.
    public var defaultNamePrefix: String {
        let name = typeName.hasPrefix("Gst") ? String(typeName.dropFirst(3)) : typeName
        // "queue2" with its number would read as the third "queue", so GStreamer writes "queue2-0".
        return name.lowercased() + (name.last?.isNumber == true ? "-" : "")
    }

    public var isBin: Bool { g_type_is_a(type, gst_bin_get_type()) != 0 }
    /// Whether `child::property=value` means something to it.
    public var isChildProxy: Bool { g_type_is_a(type, gst_child_proxy_get_type()) != 0 }
    public var isPreset: Bool { g_type_is_a(type, gst_preset_get_type()) != 0 }

    /// The factory's own words: what it is, "Source/Video", what it does, and who wrote it.
    public var longName: String { metadata("long-name") }
    public var classification: String { metadata("klass") }
    public var summary: String { metadata("description") }
    public var author: String { metadata("author") }

    private func metadata(_ key: String) -> String {
        guard let factory = gst_element_factory_find(name) else { return "" }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        return gst_element_factory_get_metadata(factory, key).map { String(cString: $0) } ?? ""
    }

    /// The element messages that it posts on the bus, where its class documents them: name and fields.
    public var messages: [(name: String, text: String)] {
        guard let factory = gst_element_factory_find(name) else { return [] }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        guard let keys = gst_element_factory_get_metadata_keys(factory) else { return [] }
        defer { g_strfreev(keys) }
        var names: [String] = []
        var next = keys
        while let key = next.pointee {
            names.append(String(cString: key))
            next += 1
        }
        return names.filter { $0.hasPrefix("message-") }.sorted().map { key in
            (String(key.dropFirst("message-".count)), metadata(key))
        }
    }

    /// The plugin that it comes from; `nil` for one registered by the program itself.
    public var pluginName: String? {
        guard let factory = gst_element_factory_find(name) else { return nil }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        return gst_plugin_feature_get_plugin_name(factory).map { String(cString: $0) }
    }

    /// The pads that it has, may get while it runs, or gives on request.
    public var padTemplates: [PadTemplateInfo] {
        ClassReference(type).map { klass in
            var result: [PadTemplateInfo] = []
            var node = gst_element_class_get_pad_template_list(klass.assumingMemoryBound(to: GstElementClass.self))
            while let item = node {
                result.append(PadTemplateInfo(item.pointee.data.assumingMemoryBound(to: GstPadTemplate.self)))
                node = item.pointee.next
            }
            return result
        }
    }

    public var properties: [PropertyInfo] { PropertyInfo.all(of: type) }

    /// The property with this name, found as a description finds it (`is_live` is `is-live`).
    public func property(_ name: String) -> PropertyInfo? { PropertyInfo.find(name, of: type) }

    /// The presets that can be loaded into it. Makes an element, because only an instance can tell.
    public var presetNames: [String] {
        guard isPreset, let element = Element(factory: name) else { return [] }
        guard let names = gst_preset_get_preset_names(OpaquePointer(element.raw)) else { return [] }
        defer { g_strfreev(names) }
        var result: [String] = []
        var next = names
        while let name = next.pointee {
            result.append(String(cString: name))
            next += 1
        }
        return result
    }
}

/// Borrows a GObject class by its type.
struct ClassReference {
    let type: GType

    init(_ type: GType) { self.type = type }

    func map<R>(_ body: (UnsafeMutableRawPointer) -> R) -> R {
        // A class of a type that this process has instances of, or could have: GObject makes it on demand.
        let klass = g_type_class_ref(type)!
        defer { g_type_class_unref(klass) }
        return body(klass)
    }
}
