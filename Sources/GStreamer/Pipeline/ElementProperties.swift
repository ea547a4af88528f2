import CGStreamer
import CGStreamerShims

/// The reason why a property couldn't be read or set. Each case names the element by its factory.
public enum PropertyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The element has no property with this name.
    case noSuchProperty(element: String, property: String)
    /// The property can't be read.
    case notReadable(element: String, property: String)
    /// The property can't be set.
    case notWritable(element: String, property: String)
    /// The value doesn't have the property's type, or GStreamer can't parse the text as a value of that type.
    case wrongType(element: String, property: String, expected: String, value: String)
    /// The element refused the value, for example because the value is out of range or the property is locked while the
    /// element is running. The property keeps its old value.
    case refused(element: String, property: String, reason: String)

    /// The element, the property and the reason, in a sentence.
    public var description: String {
        switch self {
        case .noSuchProperty(let element, let property): "\(element) has no property \"\(property)\""
        case .notReadable(let element, let property): "\(element)'s property \(property) can't be read"
        case .notWritable(let element, let property): "\(element)'s property \(property) can't be set"
        case .wrongType(let element, let property, let expected, let value):
            "\(element)'s property \(property) must be \(expected), not \"\(value)\""
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

    private func value(of property: String) throws(PropertyError) -> Value {
        let specification = try specification(property)
        guard specification.pointee.flags.rawValue & G_PARAM_READABLE.rawValue != 0 else {
            throw .notReadable(element: kind, property: property)
        }
        var value = Value(type: specification.pointee.value_type)
        g_object_get_property(raw.assumingMemoryBound(to: GObject.self), property, &value.raw)
        return value
    }

    /// Reads a property. GObject converts numbers and enumerations to the requested type.
    public func property<T: ValueConvertible>(_ name: String, as type: T.Type = T.self) throws(PropertyError) -> T {
        let value = try value(of: name)
        if let result = T(value) { return result }
        var converted = Value(type: T.gtype)
        if value.read({ g_value_transform($0, &converted.raw) }) != 0, let result = T(converted) { return result }
        let expected = "read as \(String(cString: g_type_name(value.raw.g_type)))"
        throw .wrongType(element: kind, property: name, expected: expected, value: "\(T.self)")
    }

    /// Reads a property as text, in the form in which a description contains it. Empty if the value can't be written as
    /// text.
    public func propertyText(_ name: String) throws(PropertyError) -> String {
        let value = try value(of: name)
        return String(value) ?? PropertyInfo.serialized(value) ?? ""
    }

    /// Sets a property. If the element refuses the value, this throws, and the property keeps its old value.
    public func setProperty<T: ValueConvertible>(_ name: String, to newValue: T) throws(PropertyError) {
        let specification = try writable(name)
        var value = Value(type: specification.pointee.value_type)
        let given = Value(newValue)
        guard given.read({ g_value_transform($0, &value.raw) }) != 0 else {
            throw .wrongType(element: kind, property: name, expected: expectation(of: name), value: "\(newValue)")
        }
        try assign(name, specification, value)
    }

    /// Sets a property from text, which GStreamer parses as in a description.
    public func setProperty(_ name: String, parsing text: String) throws(PropertyError) {
        let specification = try writable(name)
        var value = Value(type: specification.pointee.value_type)
        guard gst_value_deserialize_with_pspec(&value.raw, text, specification) != 0 else {
            throw .wrongType(element: kind, property: name, expected: expectation(of: name), value: text)
        }
        try assign(name, specification, value)
    }

    /// Sets a property from text. If the element refuses the value it posts no warning, because the caller reports the
    /// error.
    package func setPropertyQuietly(_ name: String, parsing text: String) throws(PropertyError) {
        try PropertyRefusal.quietly(self) { () throws(PropertyError) in try setProperty(name, parsing: text) }
    }

    /// Returns the machine-readable reason with which the element last refused a value on this thread, and forgets the
    /// reason; `nil` if the element gave none.
    package func takeRefusalDetails() -> Structure? { PropertyRefusal.takeDetails(self) }

    /// Returns the values that a property accepts, in words.
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
        // GObject would print a warning and ignore a value that is out of the property's range.
        var checked = Value(type: specification.pointee.value_type)
        value.read { g_value_copy($0, &checked.raw) }
        guard g_param_value_validate(specification, &checked.raw) == 0 else {
            throw .refused(
                element: kind, property: name,
                reason: "expected \(expectation(of: name)), got \(value.serialized ?? "another value")")
        }
        let refusal = PropertyRefusal.during(self) {
            value.read { g_object_set_property(raw.assumingMemoryBound(to: GObject.self), name, $0) }
        }
        if let refusal { throw .refused(element: kind, property: name, reason: refusal) }
    }
}

/// Configuring elements that the caller has created.
extension Element {
    /// Sets a property that all supported versions of the element have.
    ///
    /// A failure is a programming error. GLib logs it as critical, and the caller continues; with
    /// `G_DEBUG=fatal_warnings` the process aborts.
    package func configure<T: ValueConvertible>(_ name: String, to value: T) {
        configure { () throws(PropertyError) in try setProperty(name, to: value) }
    }

    /// Sets a property from text, as `configure(_:to:)` does from a value.
    package func configure(_ name: String, parsing text: String) {
        configure { () throws(PropertyError) in try setProperty(name, parsing: text) }
    }

    private func configure(_ body: () throws(PropertyError) -> Void) {
        do throws(PropertyError) { try body() } catch { g_return_if_fail_warning("MediaGraph", name, "\(error)") }
    }
}

extension Element {
    /// Calls `body` whenever the element notifies that a property has changed, on the thread that changes it. The
    /// element retains `body` until it is freed.
    package func watchProperty(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let watch = Unmanaged.passRetained(PropertyWatch(body)).toOpaque()
        let handler:
            @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void = {
                _, _, context in Unmanaged<PropertyWatch>.fromOpaque(context).takeUnretainedValue().body()
            }
        g_signal_connect_data(
            raw, "notify::\(name)", unsafeBitCast(handler, to: GCallback.self), watch,
            { context, _ in Unmanaged<PropertyWatch>.fromOpaque(context!).release() }, GConnectFlags(rawValue: 0))
    }

    /// Returns whether the element has a readable property with this name.
    package func hasProperty(_ name: String) -> Bool { (try? propertyText(name)) != nil }
}

private final class PropertyWatch: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
