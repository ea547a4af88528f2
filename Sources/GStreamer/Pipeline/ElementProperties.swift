import CGStreamer
import CGStreamerShims

/// Why a property couldn't be read or written.
public enum PropertyError: Error, Sendable, Equatable, CustomStringConvertible {
    case noSuchProperty(element: String, property: String)
    case notReadable(element: String, property: String)
    case notWritable(element: String, property: String)
    /// The value isn't of the property's type, or GStreamer can't read this text as one.
    case wrongType(element: String, property: String, expected: String, value: String)
    /// The element refused it: locked while running, or out of range. The property keeps its value.
    case refused(element: String, property: String, reason: String)

    public var description: String {
        switch self {
        case .noSuchProperty(let element, let property): "\(element) has no property \"\(property)\""
        case .notReadable(let element, let property): "\(element)'s property \(property) can't be read"
        case .notWritable(let element, let property): "\(element)'s property \(property) can't be written"
        case .wrongType(let element, let property, let expected, let value):
            "\(element)'s property \(property) takes \(expected), not \"\(value)\""
        case .refused(let element, let property, let reason): "\(element) refused \(property): \(reason)"
        }
    }
}

extension Element {
    private var kind: String { factoryName ?? typeName }

    private func specification(_ property: String) throws(PropertyError) -> UnsafeMutablePointer<GParamSpec> {
        let klass = cgst_class_of(raw).assumingMemoryBound(to: GObjectClass.self)
        guard let specification = g_object_class_find_property(klass, property) else {
            throw .noSuchProperty(element: kind, property: property)
        }
        return specification
    }

    /// Reads a property as the type asked for; numbers and enums are converted as GObject does.
    public func property<T: ValueConvertible>(_ name: String, as type: T.Type = T.self) throws(PropertyError) -> T {
        let specification = try specification(name)
        guard specification.pointee.flags.rawValue & G_PARAM_READABLE.rawValue != 0 else {
            throw .notReadable(element: kind, property: name)
        }
        var value = Value(type: specification.pointee.value_type)
        g_object_get_property(raw.assumingMemoryBound(to: GObject.self), name, &value.raw)
        if let result = T(value) { return result }
        var converted = Value(type: T.gtype)
        if value.read({ g_value_transform($0, &converted.raw) }) != 0, let result = T(converted) { return result }
        let expected = String(cString: g_type_name(specification.pointee.value_type))
        throw .wrongType(element: kind, property: name, expected: expected, value: "\(T.self)")
    }

    /// Reads a property as text, as a description would write it.
    public func propertyText(_ name: String) throws(PropertyError) -> String {
        let specification = try specification(name)
        guard specification.pointee.flags.rawValue & G_PARAM_READABLE.rawValue != 0 else {
            throw .notReadable(element: kind, property: name)
        }
        var value = Value(type: specification.pointee.value_type)
        g_object_get_property(raw.assumingMemoryBound(to: GObject.self), name, &value.raw)
        return String(value) ?? PropertyInfo.serialized(value) ?? ""
    }

    /// Writes a property. What the element refuses is thrown, and the property keeps its value.
    public func setProperty<T: ValueConvertible>(_ name: String, to newValue: T) throws(PropertyError) {
        let specification = try writable(name)
        var value = Value(type: specification.pointee.value_type)
        let given = Value(newValue)
        guard given.read({ g_value_transform($0, &value.raw) }) != 0 else {
            throw .wrongType(element: kind, property: name, expected: expectation(of: name), value: "\(newValue)")
        }
        try assign(name, specification, value)
    }

    /// Writes a property from text, read by GStreamer's own rules (as a description would be).
    public func setProperty(_ name: String, parsing text: String) throws(PropertyError) {
        let specification = try writable(name)
        var value = Value(type: specification.pointee.value_type)
        guard gst_value_deserialize_with_pspec(&value.raw, text, specification) != 0 else {
            throw .wrongType(element: kind, property: name, expected: expectation(of: name), value: text)
        }
        try assign(name, specification, value)
    }

    /// The same for a caller who tells of a refusal himself: the element posts no warning of it.
    package func setPropertyQuietly(_ name: String, parsing text: String) throws(PropertyError) {
        try PropertyRefusal.quietly(self) { () throws(PropertyError) in try setProperty(name, parsing: text) }
    }

    /// What the property takes, in words.
    private func expectation(of property: String) -> String {
        let type = cgst_class_of(raw).assumingMemoryBound(to: GTypeClass.self).pointee.g_type
        return PropertyInfo.find(property, of: type)?.expectation ?? "another type"
    }

    private func writable(_ name: String) throws(PropertyError) -> UnsafeMutablePointer<GParamSpec> {
        let specification = try specification(name)
        guard specification.pointee.flags.rawValue & G_PARAM_WRITABLE.rawValue != 0 else {
            throw .notWritable(element: kind, property: name)
        }
        return specification
    }

    private func assign(
        _ name: String, _ specification: UnsafeMutablePointer<GParamSpec>, _ value: borrowing Value
    ) throws(PropertyError) {
        // GObject would warn on the terminal and drop a value that the property's range refuses.
        var checked = Value(type: specification.pointee.value_type)
        value.read { g_value_copy($0, &checked.raw) }
        guard g_param_value_validate(specification, &checked.raw) == 0 else {
            throw .refused(
                element: kind, property: name,
                reason: "\(value.serialized ?? "the value") is none of its values: expected \(expectation(of: name))")
        }
        let refusal = PropertyRefusal.during(self) {
            value.read { g_object_set_property(raw.assumingMemoryBound(to: GObject.self), name, $0) }
        }
        if let refusal { throw .refused(element: kind, property: name, reason: refusal) }
    }
}
