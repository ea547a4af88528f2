import CGStreamer
import CGStreamerShims

@testable import GStreamer

/// The result of GStreamer's parser for a description: the elements, their properties and the links.
///
/// Generated names are left out, because GStreamer counts them up from parse to parse. So two snapshots can be
/// compared.
struct PipelineSnapshot: Sendable, Equatable {
    /// An element.
    struct Item: Sendable, Equatable {
        /// The name of its factory; empty if it has none.
        let factory: String
        /// The index in `items` of the bin that contains it; `nil` at the top level.
        let parent: Int?
        /// The values of all its properties that can be read, written and converted to text.
        let properties: [String: String]
    }

    /// A link between pads of two elements.
    struct Link: Sendable, Hashable {
        /// The index in `items` of the element that the data leaves.
        let source: Int
        /// The name of the pad that the data leaves.
        let sourcePad: String
        /// The index in `items` of the element that the data enters.
        let sink: Int
        /// The name of the pad that the data enters.
        let sinkPad: String
    }

    /// The elements in the order of the text, each bin before its children. The elements of caps filters come after the
    /// others.
    private(set) var items: [Item] = []
    /// The links between the elements; a link through ghost pads joins the elements at its ends.
    private(set) var links: Set<Link> = []

    /// Parses `text`, records the result, and frees the elements.
    init(parsing text: String) throws(GLibError) {
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
        // A bin adds each new child at the front.
        return children.reversed()
    }

    private static func properties(of element: Element) -> [String: String] {
        var result: [String: String] = [:]
        let type = element.raw.assumingMemoryBound(to: GTypeInstance.self).pointee.g_class.pointee.g_type
        for property in PropertyInfo.all(of: type) where property.isReadable && property.isWritable {
            // Objects contain generated names as well, and a structure of rtpbin contains a generated user name.
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

    /// Returns whether an element's children are recorded as items. They aren't if the element is implemented as a bin.
    private static func isOpened(_ element: Element) -> Bool { ["GstBin", "GstPipeline"].contains(element.typeName) }

    /// Follows ghost pads to the pad of a recorded element.
    private static func target(_ pad: Pad) -> Pad? {
        switch pad.typeName {
        case "GstGhostPad":
            guard let bin = pad.parent, isOpened(bin) else { return pad }
            let ghost = pad.raw.assumingMemoryBound(to: GstGhostPad.self)
            return gst_ghost_pad_get_target(ghost).flatMap { target(Pad(taking: $0)) }
        case "GstProxyPad":
            // The inner side of a ghost pad, where the link leaves the bin.
            return gst_object_get_parent(pad.object).flatMap { Pad(taking: $0).peer.flatMap(target) }
        default: return pad
        }
    }
}

extension PropertyInfo {
    /// Returns the property's value as text; `nil` if the value can't be converted to text.
    fileprivate func text(of element: Element) -> String? {
        var value = Value(type: g_type_from_name(typeName))
        g_object_get_property(element.raw.assumingMemoryBound(to: GObject.self), name, &value.raw)
        return Self.serialized(value)
    }

    /// Parses `text` as a value of this property, and returns the value as GStreamer writes it; `nil` if GStreamer
    /// can't parse the text.
    func normalized(_ text: String) -> String? {
        ClassReference(owner).map { klass in
            let klass = klass.assumingMemoryBound(to: GObjectClass.self)
            guard let specification = g_object_class_find_property(klass, name) else { return nil }
            var value = Value(type: specification.pointee.value_type)
            guard gst_value_deserialize_with_pspec(&value.raw, text, specification) != 0 else { return nil }
            return Self.serialized(value)
        }
    }
}
