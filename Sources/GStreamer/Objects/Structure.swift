import CGStreamer

/// A named set of typed fields (`GstStructure`), which messages, events and statistics contain. Immutable.
public final class Structure: @unchecked Sendable, CustomStringConvertible {
    // `@unchecked Sendable`: written only in `init`, before other code has a reference to it.
    package let raw: UnsafeMutablePointer<GstStructure>

    /// Creates a structure with a name and fields. Each field has its value's GType.
    public init(_ name: String, _ fields: [(String, any ValueConvertible)] = []) {
        GStreamerRuntime.initialize()
        raw = gst_structure_new_empty(name)
        for (field, value) in fields { set(field, value) }
    }

    private func set<T: ValueConvertible>(_ field: String, _ value: T) {
        let value = Value(value)
        value.read { gst_structure_set_value(raw, field, $0) }
    }

    /// Copies `other`.
    package init(copying other: UnsafePointer<GstStructure>) {
        raw = gst_structure_copy(other)
    }

    /// Takes ownership of `other`.
    package init(taking other: UnsafeMutablePointer<GstStructure>) {
        raw = other
    }

    /// Parses a structure from text in GStreamer's syntax (`name, field=value, …`); `nil` if the text isn't exactly one
    /// structure.
    public convenience init?(parsing text: String) {
        // Before gst_init, GStreamer has no table of types, and parsing a value crashes.
        GStreamerRuntime.initialize()
        let parsed = text.withCString { start -> UnsafeMutablePointer<GstStructure>? in
            // Without `end`, GStreamer logs a warning if text follows the structure.
            var end: UnsafeMutablePointer<CChar>?
            guard let parsed = gst_structure_from_string(start, &end) else { return nil }
            if let end, end.pointee != 0 {
                gst_structure_free(parsed)
                return nil
            }
            return parsed
        }
        guard let parsed else { return nil }
        self.init(taking: parsed)
    }

    deinit {
        gst_structure_free(raw)
    }

    /// The structure's name.
    public var name: String { String(cString: gst_structure_get_name(raw)) }

    /// The names of all fields, in order.
    public var fieldNames: [String] {
        (0..<UInt32(max(0, gst_structure_n_fields(raw)))).map { String(cString: gst_structure_nth_field_name(raw, $0)) }
    }

    /// Returns whether the structure has a field of this name.
    package func hasField(_ name: String) -> Bool { gst_structure_has_field(raw, name) != 0 }

    /// The field's value; `nil` if the field doesn't exist or has another type.
    public subscript<T: ValueConvertible>(field: String, as type: T.Type = T.self) -> T? {
        gst_structure_get_value(raw, field).flatMap { T(Value(copying: $0)) }
    }

    /// Returns the field's value as text, whatever its type is; `nil` if the field doesn't exist or can't be written as
    /// text.
    public func text(_ field: String) -> String? {
        guard let value = gst_structure_get_value(raw, field) else { return nil }
        let copy = Value(copying: value)
        return String(copy) ?? copy.serialized
    }

    /// The structure as text.
    public var description: String { takeString(gst_structure_to_string(raw)) ?? "" }
}
