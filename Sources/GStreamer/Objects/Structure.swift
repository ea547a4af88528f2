import CGStreamer

/// A named set of typed fields: what messages, events and statistics carry. A value; fields keep their GTypes.
public final class Structure: @unchecked Sendable, CustomStringConvertible {
    // `@unchecked Sendable`: written only by `init`, before anyone else can hold it.
    package let raw: UnsafeMutablePointer<GstStructure>

    public init(_ name: String, _ fields: [(String, any ValueConvertible)] = []) {
        GStreamerRuntime.initialize()
        raw = gst_structure_new_empty(name)
        for (field, value) in fields { set(field, value) }
    }

    private func set<T: ValueConvertible>(_ field: String, _ value: T) {
        let value = Value(value)
        value.read { gst_structure_set_value(raw, field, $0) }
    }

    package init(copying other: UnsafePointer<GstStructure>) {
        raw = gst_structure_copy(other)
    }

    /// Takes over `other`.
    package init(taking other: UnsafeMutablePointer<GstStructure>) {
        raw = other
    }

    /// `text` by GStreamer's own rules (`name, field=value, …`); `nil` when it isn't a structure.
    public convenience init?(parsing text: String) {
        // GStreamer's tables of types are empty before, and reading a value crashes.
        GStreamerRuntime.initialize()
        let parsed = text.withCString { start -> UnsafeMutablePointer<GstStructure>? in
            // Whoever doesn't ask where it ends is warned of what is behind it.
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

    public var name: String { String(cString: gst_structure_get_name(raw)) }

    public var fieldNames: [String] {
        (0..<UInt32(max(0, gst_structure_n_fields(raw)))).map { String(cString: gst_structure_nth_field_name(raw, $0)) }
    }

    /// The field, when it is there and holds this very type.
    public subscript<T: ValueConvertible>(field: String, as type: T.Type = T.self) -> T? {
        gst_structure_get_value(raw, field).flatMap { T(Value(copying: $0)) }
    }

    /// The field written as text, whatever its type.
    public func text(_ field: String) -> String? {
        guard let value = gst_structure_get_value(raw, field) else { return nil }
        let copy = Value(copying: value)
        return String(copy) ?? copy.serialized
    }

    public var description: String { takeString(gst_structure_to_string(raw)) ?? "" }
}
