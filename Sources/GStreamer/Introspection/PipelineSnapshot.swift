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
        guard Self.isOpened(element) else { return }
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
            // Names that count up are in objects too, and rtpbin makes up a user in a structure.
            if property.name == "name" || [.other, .element, .structure].contains(property.kind) { continue }
            result[property.name] = property.text(of: element)
        }
        return result
    }

    private mutating func addLinks(of element: Element, _ index: Int, _ indices: [Element: Int]) {
        for pad in element.pads where pad.direction == .source && !(Self.isOpened(element)) {
            guard let peer = pad.peer.flatMap(Self.target), let parent = peer.parent, let sink = indices[parent] else {
                continue
            }
            links.insert(Link(source: index, sourcePad: pad.name, sink: sink, sinkPad: peer.name))
        }
    }

    /// Whether an element's children are items of their own. Elements that are bins for reasons of their own stay closed.
    private static func isOpened(_ element: Element) -> Bool { ["GstBin", "GstPipeline"].contains(element.typeName) }

    /// The pad of an item that is behind the pads of the bins between.
    private static func target(_ pad: Pad) -> Pad? {
        switch pad.typeName {
        case "GstGhostPad":
            guard let bin = pad.parent, isOpened(bin) else { return pad }
            let ghost = pad.raw.assumingMemoryBound(to: GstGhostPad.self)
            return gst_ghost_pad_get_target(ghost).flatMap { target(Pad(taking: $0)) }
        case "GstProxyPad":
            // The inside of a ghost pad, which leads out of the bin.
            return gst_object_get_parent(pad.object).flatMap { Pad(taking: $0).peer.flatMap(target) }
        default: return pad
        }
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
