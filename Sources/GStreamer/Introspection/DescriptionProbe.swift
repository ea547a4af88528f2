import CGStreamer
import CGStreamerShims

/// Asks GStreamer's own parser and registry about a description or a part of one, and keeps nothing.
package enum DescriptionProbe {
    /// What `gst_parse_launch_full` says against `text`; `nil` when it accepts it.
    ///
    /// It makes every element and sets every property, as any parse does; no element leaves the NULL state. GStreamer
    /// warns through GLib about values out of range or names used twice: the caller has refused those before.
    package static func parse(_ text: String) -> GLibError? {
        GStreamerRuntime.initialize()
        var error: UnsafeMutablePointer<GError>?
        if let element = cgst_parse_launch(text, &error) {
            // Sunk first: a floating reference given to unref alone would be legal, but hidden from the leaks tracer.
            gst_object_unref(gst_object_ref_sink(element))
        }
        return error.map { GLibError(taking: $0) }
    }

    /// Whether GStreamer takes `uri` for one, as opposed to a path.
    package static func isURI(_ uri: String) -> Bool { gst_uri_is_valid(uri) != 0 }

    /// The scheme of a URI.
    package static func uriProtocol(_ uri: String) -> String? { takeString(gst_uri_get_protocol(uri)) }

    /// Whether some element reads from (or writes to) URIs of this protocol.
    package static func isSupported(protocol name: String, direction: Pad.Direction) -> Bool {
        GStreamerRuntime.initialize()
        return gst_uri_protocol_is_supported(direction == .sink ? GST_URI_SINK : GST_URI_SRC, name) != 0
    }

    /// What `path` (`child::property`) means to a new element of this factory.
    package enum ChildProperty: Sendable {
        case property(PropertyInfo)
        /// The child is there and has no such property.
        case noSuchProperty(childType: String, known: [String])
        /// No such child yet; the value waits for one of that name.
        case noChild
    }

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
