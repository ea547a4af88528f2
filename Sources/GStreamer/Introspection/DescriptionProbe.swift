import CGStreamer
import CGStreamerShims

/// Asks GStreamer's own parser and registry about a description or a part of one. Keeps nothing of the result.
package enum DescriptionProbe {
    /// Returns the error that `gst_parse_launch_full` reports for `text`; `nil` if it accepts the text.
    ///
    /// Like any parse, this creates all elements and sets all properties; the elements stay in NULL. GStreamer warns
    /// through GLib about values that are out of range and about names that are used twice, so the caller refuses those
    /// first.
    package static func parse(_ text: String) -> GLibError? {
        GStreamerRuntime.initialize()
        var error: UnsafeMutablePointer<GError>?
        if let element = cgst_parse_launch(text, &error) {
            // Sink the floating reference first: the leaks tracer doesn't see an element that is only unreferenced.
            gst_object_unref(gst_object_ref_sink(element))
        }
        return error.map { GLibError(taking: $0) }
    }

    /// Returns whether GStreamer regards `uri` as a URI rather than a path.
    package static func isURI(_ uri: String) -> Bool { gst_uri_is_valid(uri) != 0 }

    /// Returns the scheme of a URI; `nil` if it has none.
    package static func uriProtocol(_ uri: String) -> String? { takeString(gst_uri_get_protocol(uri)) }

    /// Returns whether an installed element can read from URIs with this scheme, or write to them if `direction` is
    /// `.sink`.
    package static func isSupported(protocol name: String, direction: Pad.Direction) -> Bool {
        GStreamerRuntime.initialize()
        return gst_uri_protocol_is_supported(direction == .sink ? GST_URI_SINK : GST_URI_SRC, name) != 0
    }

    /// Returns the schemes of the URIs that installed elements read, or write if `direction` is `.sink`, sorted.
    package static func protocols(_ direction: Pad.Direction) -> [String] {
        GStreamerRuntime.initialize()
        let wanted = direction == .sink ? GST_URI_SINK : GST_URI_SRC
        let names = ElementFactoryInfo.allNames.flatMap { name -> [String] in
            guard let factory = gst_element_factory_find(name) else { return [] }
            defer { gst_object_unref(UnsafeMutableRawPointer(factory)) }
            guard gst_element_factory_get_uri_type(factory) == wanted,
                let protocols = gst_element_factory_get_uri_protocols(factory)
            else { return [] }
            return (0...).lazy.map { protocols[$0] }.prefix { $0 != nil }.map { String(cString: $0!) }
        }
        return Set(names).sorted()
    }

    /// What a path `child::property` means for a new element of a factory.
    package enum ChildProperty: Sendable {
        /// The child exists and has this property.
        case property(PropertyInfo)
        /// The child exists but has no such property. `known` lists those it has.
        case noSuchProperty(childType: String, known: [String])
        /// The element has no such child yet. GStreamer sets the value when a child with that name is added.
        case noChild
    }

    /// Looks up a path `child::property`. Creates an element, because only an instance has children.
    package static func childProperty(_ path: String, of factory: ElementFactoryInfo) -> ChildProperty {
        guard factory.isChildProxy, let separator = path.lastRange(of: "::"),
            let element = Element(factory: factory.name)
        else { return .noChild }
        let proxy = OpaquePointer(element.raw)
        let child = String(path[..<separator.lowerBound])
        guard let object = gst_child_proxy_get_child_by_name_recurse(proxy, child) else { return .noChild }
        defer { g_object_unref(object) }
        let type = UnsafeMutableRawPointer(object).assumingMemoryBound(to: GTypeInstance.self).pointee.g_class.pointee
            .g_type
        if let property = PropertyInfo.find(String(path[separator.upperBound...]), of: type) {
            return .property(property)
        }
        return .noSuchProperty(
            childType: String(cString: g_type_name(type)), known: PropertyInfo.all(of: type).map(\.name))
    }
}

extension String {
    fileprivate func lastRange(of separator: String) -> Range<Index>? {
        var found: Range<Index>?
        var start = startIndex
        while let range = self[start...].firstRange(of: separator) {
            found = range
            start = range.upperBound
        }
        return found
    }
}
