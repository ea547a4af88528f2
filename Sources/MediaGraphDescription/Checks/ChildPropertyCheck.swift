import GStreamer

/// Checks `child::property=value`. The child is an element in a bin, or a pad, and may not exist yet. GStreamer keeps
/// the value until a child of that name appears, and reports nothing if the child doesn't have the property.
enum ChildPropertyCheck {
    static func problem(
        _ property: ParsedProperty, of index: Int, _ factory: ElementFactoryInfo, _ context: CheckContext
    ) -> Problem? {
        let path = property.childPath
        guard path.allSatisfy({ !$0.isEmpty }), !property.name.contains("…"), let name = path.last else { return nil }
        if let child = child(path.dropLast(), of: index, context) {
            guard let factory = context.factories[child] else { return nil }
            guard let info = factory.property(name) else { return PropertyCheck.unknown(property, of: factory) }
            return problem(property, info, factory.name)
        }
        if path.count == 2, let template = factory.padTemplates.first(where: { $0.mayBeChild(path[0]) }) {
            let label = "pad \(path[0]) of \(factory.name)"
            guard let info = template.padProperty(name) else {
                return PropertyCheck.unknown(
                    property, label: label, names: template.padProperties.map(\.name),
                    list: "`gst-inspect-1.0 \(factory.name)` lists the properties of its pads")
            }
            return problem(property, info, label)
        }
        switch DescriptionProbe.childProperty(property.name, of: factory) {
        case .property(let info): return PropertyCheck.problem(property, info, label: "\(path[0]) of \(factory.name)")
        case .noSuchProperty(_, let known):
            return PropertyCheck.unknown(property, label: "\(path[0]) of \(factory.name)", names: known)
        case .noChild: return nil
        }
    }

    private static func problem(_ property: ParsedProperty, _ info: PropertyInfo, _ label: String) -> Problem? {
        if info.isConstructOnly {
            return Problem(
                place: .expanded(property.range), message: "property \"\(info.name)\" of \(label) can't be set",
                hint: "remove it: the property can only be set while \(label) is being created")
        }
        return PropertyCheck.problem(property, info, label: label)
    }

    /// Returns the element of the description that a path of names, from bin to bin, leads to; `nil` if there is none.
    private static func child(_ path: ArraySlice<String>, of bin: Int, _ context: CheckContext) -> Int? {
        var parent = bin
        for name in path {
            let children = context.parsed.elements.indices.filter { context.parsed.elements[$0].parent == parent }
            let child =
                children.first { context.parsed.elements[$0].name?.value == name }
                ?? children.first {
                    guard context.parsed.elements[$0].name == nil, let factory = context.factories[$0] else {
                        return false
                    }
                    return NameCheck.isAutomatic(name, factory.defaultNamePrefix)
                }
            guard let child else { return nil }
            parent = child
        }
        return parent
    }
}

extension PadTemplateInfo {
    /// Returns whether a pad of this name exists or can be requested, so that its properties are child properties.
    fileprivate func mayBeChild(_ name: String) -> Bool { presence != .sometimes && matches(name) }
}
