import CGStreamer
import CGStreamerShims

/// What GStreamer's parser makes of a description: the elements, their properties, and which pads are linked.
///
/// Names that GStreamer made up count up from one parse to the next and are left out, so that two parses can be compared.
package struct PipelineSnapshot: Sendable, Equatable {
    package struct Item: Sendable, Equatable {
        package let factory: String
        /// The bin that it is in, among `items`; `nil` at the top.
        package let parent: Int?
        /// All properties that can be read and written as text.
        package let properties: [String: String]
    }

    package struct Link: Sendable, Hashable {
        package let source: Int
        package let sourcePad: String
        package let sink: Int
        package let sinkPad: String
    }

    /// The elements in the order of the text, each bin before what is in it. A filter's element comes after the others.
    package private(set) var items: [Item] = []
    package private(set) var links: Set<Link> = []

    /// Parses `text` and looks at the result, which is let go.
    package init(parsing text: String) throws(GLibError) {
        GStreamerRuntime.initialize()
        var error: UnsafeMutablePointer<GError>?
        guard let raw = cgst_parse_launch(text, &error) else { throw GLibError(taking: error!) }
        let top = Element(taking: raw)
        var indices: [Element: Int] = [:]
        if top.typeName == "GstPipeline" {
            for child in Self.children(of: top) { add(child, parent: nil, &indices) }
        } else {
            add(top, parent: nil, &indices)
        }
        for (element, index) in indices { addLinks(of: element, index, indices) }
    }

    private mutating func add(_ element: Element, parent: Int?, _ indices: inout [Element: Int]) {
        let index = items.count
        indices[element] = index
        items.append(
            Item(factory: element.factoryName ?? "", parent: parent, properties: Self.properties(of: element)))
        guard element.typeName == "GstBin" || element.typeName == "GstPipeline" else { return }
        for child in Self.children(of: element) { add(child, parent: index, &indices) }
    }

    private static func children(of bin: Element) -> [Element] {
        var children: [Element] = []
        var node = bin.raw.assumingMemoryBound(to: GstBin.self).pointee.children
        while let item = node {
            children.append(Element(retaining: item.pointee.data))
            node = item.pointee.next
        }
        // A bin puts each new child first.
        return children.reversed()
    }

    private static func properties(of element: Element) -> [String: String] {
        var result: [String: String] = [:]
        let type = element.raw.assumingMemoryBound(to: GTypeInstance.self).pointee.g_class.pointee.g_type
        for property in PropertyInfo.all(of: type) where property.isReadable && property.isWritable {
            // Both hold names that count up.
            if property.name == "name" || property.kind == .other || property.kind == .element { continue }
            result[property.name] = property.text(of: element)
        }
        return result
    }

    private mutating func addLinks(of element: Element, _ index: Int, _ indices: [Element: Int]) {
        for pad in element.pads where pad.direction == .source {
            guard let peer = gst_pad_get_peer(pad.pad).flatMap({ Self.target(Pad(taking: $0)) }),
                let parent = peer.parent, let sink = indices[parent]
            else { continue }
            links.insert(Link(source: index, sourcePad: pad.name, sink: sink, sinkPad: peer.name))
        }
    }

    /// The pad behind a bin's ghost pads.
    private static func target(_ pad: Pad) -> Pad? {
        if g_type_check_instance_is_a(pad.raw.assumingMemoryBound(to: GTypeInstance.self), gst_ghost_pad_get_type()) != 0 {
            let ghost = pad.raw.assumingMemoryBound(to: GstGhostPad.self)
            return gst_ghost_pad_get_target(ghost).flatMap { target(Pad(taking: $0)) }
        }
        if g_type_check_instance_is_a(pad.raw.assumingMemoryBound(to: GTypeInstance.self), gst_proxy_pad_get_type()) != 0 {
            // The inside of a ghost pad, which leads out of the bin.
            guard let ghost = gst_object_get_parent(pad.object) else { return nil }
            let outside = Pad(taking: UnsafeMutableRawPointer(ghost))
            return gst_pad_get_peer(outside.pad).flatMap { target(Pad(taking: $0)) }
        }
        return pad
    }
}

extension PropertyInfo {
    /// The property's value as text; `nil` when it can't be written as one.
    fileprivate func text(of element: Element) -> String? {
        var value = Value(type: g_type_from_name(typeName))
        g_object_get_property(element.raw.assumingMemoryBound(to: GObject.self), name, &value.raw)
        return Self.serialized(value)
    }

    /// `text` as GStreamer writes the value that it reads from it; `nil` when it reads none.
    package func normalized(_ text: String) -> String? {
        ClassReference(owner).map { klass in
            let klass = klass.assumingMemoryBound(to: GObjectClass.self)
            guard let specification = g_object_class_find_property(klass, name) else { return nil }
            var value = Value(type: specification.pointee.value_type)
            guard gst_value_deserialize_with_pspec(&value.raw, text, specification) != 0 else { return nil }
            return Self.serialized(value)
        }
    }
}
