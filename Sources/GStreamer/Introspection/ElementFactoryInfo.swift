import CGStreamer
import CGStreamerShims
import Synchronization

/// An element factory, as GStreamer's registry and the element's class describe it. No element is created, except where
/// a member says so.
package struct ElementFactoryInfo: Sendable, Hashable {
    /// The factory's name, as written in a description.
    package let name: String
    /// The type of the elements that the factory creates.
    package let type: GType

    /// The result of looking up a factory by its name.
    package enum Lookup: Sendable, Hashable {
        case found(ElementFactoryInfo)
        /// The registry lists the factory, but its plugin can't be loaded, for example because a library is missing.
        case notLoadable
        /// The registry has no factory with this name.
        case unknown
    }

    /// Looks up a factory and loads its plugin, which can take a while the first time. May be called from any thread.
    package static func lookUp(_ name: String) -> Lookup {
        GStreamerRuntime.initialize()
        var exists: gboolean = 0
        let type = cgst_element_factory_type(name, &exists)
        if type != 0 { return .found(ElementFactoryInfo(name: name, type: type)) }
        return exists != 0 ? .notLoadable : .unknown
    }

    /// Returns the factory with this name; `nil` if there is none or its plugin can't be loaded.
    package static func find(_ name: String) -> ElementFactoryInfo? {
        if case .found(let info) = lookUp(name) { info } else { nil }
    }

    /// The names of all element factories that this process knows, sorted.
    package static var allNames: [String] {
        GStreamerRuntime.initialize()
        // Changes whenever the registry does. Read before the list, so that a later change isn't missed.
        let cookie = gst_registry_get_feature_list_cookie(gst_registry_get())
        if let known = knownNames.withLock({ $0 }), known.cookie == cookie { return known.names }
        let list = gst_registry_get_feature_list(gst_registry_get(), cgst_type_element_factory())
        defer { gst_plugin_feature_list_free(list) }
        var names: [String] = []
        var node = list
        while let item = node {
            names.append(
                takeString(gst_object_get_name(item.pointee.data.assumingMemoryBound(to: GstObject.self))) ?? "")
            node = item.pointee.next
        }
        names.sort()
        knownNames.withLock { $0 = (cookie, names) }
        return names
    }

    /// The names that `allNames` last found: to list and sort over a thousand names takes milliseconds.
    private static let knownNames = Mutex<(cookie: UInt32, names: [String])?>(nil)

    /// Sets a factory's rank to none in this process, so that elements that choose others by rank, such as
    /// `autovideosink`, ignore it. It can still be created by name. Does nothing if there is no such factory.
    package static func clearRank(_ name: String) {
        GStreamerRuntime.initialize()
        guard let factory = gst_element_factory_find(name) else { return }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        gst_plugin_feature_set_rank(factory, UInt32(GST_RANK_NONE.rawValue))
    }

    /// Returns a factory's rank: elements that choose others prefer the highest, and ignore those with 0. `nil` if
    /// there is no such factory.
    package static func rank(of name: String) -> UInt32? {
        GStreamerRuntime.initialize()
        guard let factory = gst_element_factory_find(name) else { return nil }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        return gst_plugin_feature_get_rank(factory)
    }

    /// The name of the element's GType.
    package var typeName: String { String(cString: g_type_name(type)) }

    /// The name that GStreamer gives to an element without a name of its own, up to the number at the end.
    package var defaultNamePrefix: String {
        let name = typeName.hasPrefix("Gst") ? String(typeName.dropFirst(3)) : typeName
        // GStreamer writes "queue2-0", because "queue20" would look like the name of a "queue".
        return name.lowercased() + (name.last?.isNumber == true ? "-" : "")
    }

    /// Whether the elements are bins.
    package var isBin: Bool { g_type_is_a(type, gst_bin_get_type()) != 0 }
    /// Whether the elements understand `child::property=value` (`GstChildProxy`).
    package var isChildProxy: Bool { g_type_is_a(type, gst_child_proxy_get_type()) != 0 }
    /// Whether the elements can load presets (`GstPreset`).
    package var isPreset: Bool { g_type_is_a(type, gst_preset_get_type()) != 0 }

    /// The element's full name, such as "Video test source".
    package var longName: String { metadata("long-name") }
    /// The element's classification, such as "Source/Video".
    package var classification: String { metadata("klass") }
    /// A sentence about what the element does.
    package var summary: String { metadata("description") }
    /// The element's authors.
    package var author: String { metadata("author") }

    private func metadata(_ key: String) -> String {
        guard let factory = gst_element_factory_find(name) else { return "" }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        return gst_element_factory_get_metadata(factory, key).map { String(cString: $0) } ?? ""
    }

    /// The element messages that the element posts on the bus, by name, with a text about their fields. Empty unless
    /// the class documents them.
    package var messages: [(name: String, text: String)] { documentation(with: "message-") }

    /// The element's action signals, by name, with a text about their arguments. Empty unless the class documents them.
    package var actions: [(name: String, text: String)] { documentation(with: "action-") }

    /// The texts in the factory's details whose keys have a prefix, by the rest of the key.
    private func documentation(with prefix: String) -> [(name: String, text: String)] {
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
        return names.filter { $0.hasPrefix(prefix) }.sorted().map { key in
            (String(key.dropFirst(prefix.count)), metadata(key))
        }
    }

    /// The name of the plugin that registered the factory; `nil` if the program itself did.
    package var pluginName: String? {
        guard let factory = gst_element_factory_find(name) else { return nil }
        defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
        return gst_plugin_feature_get_plugin_name(factory).map { String(cString: $0) }
    }

    /// The templates of the element's pads: always, sometimes and request pads.
    package var padTemplates: [PadTemplateInfo] {
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

    /// All properties of the element, sorted by name.
    package var properties: [PropertyInfo] { PropertyInfo.all(of: type) }

    /// Returns the property with this name, by the rules of a description (`is_live` is `is-live`); `nil` if there is
    /// none.
    package func property(_ name: String) -> PropertyInfo? { PropertyInfo.find(name, of: type) }

    /// The names of the presets that the element can load. Creates an element, because only an instance knows them.
    package var presetNames: [String] {
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

/// Gives access to the GObject class of a type.
struct ClassReference {
    let type: GType

    init(_ type: GType) { self.type = type }

    /// Calls `body` with the class, which is valid during the call, and returns the result of `body`.
    func map<R>(_ body: (UnsafeMutableRawPointer) -> R) -> R {
        // Never `NULL`: the type is registered and classed, and GObject creates the class on demand.
        let klass = g_type_class_ref(type)!
        defer { g_type_class_unref(klass) }
        return body(klass)
    }
}
