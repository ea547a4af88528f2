import CGStreamer

extension Caps {
    /// The media types with their features but without fields, such as "video/x-raw" and
    /// "video/x-raw(memory:GLMemory)".
    package var mediaTypes: [String] {
        if isAny { return ["anything"] }
        var types: [String] = []
        for index in 0..<UInt32(count) {
            var type = String(cString: gst_structure_get_name(gst_caps_get_structure(raw, index)))
            if let features = features(index) { type += "(\(features))" }
            if !types.contains(type) { types.append(type) }
        }
        return types
    }

    /// Returns the fields for which two caps have no common value, with the values of both sides.
    ///
    /// Both caps can have several structures. The result is about the pair of structures with the same media type that
    /// conflicts in the fewest fields; it is empty if the caps have no media type in common.
    package func conflicts(with other: Caps) -> [(field: String, values: String, otherValues: String)] {
        var closest: [(field: String, values: String, otherValues: String)]?
        for index in 0..<UInt32(count) {
            for otherIndex in 0..<UInt32(other.count) where features(index) == other.features(otherIndex) {
                let (mine, theirs) = (
                    gst_caps_get_structure(raw, index)!, gst_caps_get_structure(other.raw, otherIndex)!
                )
                guard gst_structure_get_name_id(mine) == gst_structure_get_name_id(theirs) else { continue }
                let conflicts = Self.conflicts(mine, theirs)
                if closest == nil || conflicts.count < closest!.count {
                    closest = conflicts
                } else if conflicts.map(\.field) == closest!.map(\.field) {
                    // Another pair with the same conflicting fields: list its values too.
                    for index in conflicts.indices {
                        closest![index].values = Self.union(closest![index].values, conflicts[index].values)
                        closest![index].otherValues = Self.union(
                            closest![index].otherValues, conflicts[index].otherValues)
                    }
                }
            }
        }
        return closest ?? []
    }

    /// Joins two values, or lists of values, to one list without duplicates.
    private static func union(_ a: String, _ b: String) -> String {
        func values(_ text: String) -> [String] {
            guard text.hasPrefix("{"), text.hasSuffix("}") else { return [text] }
            // In a list, GStreamer writes each value's type before the value.
            return text.dropFirst().dropLast().split(separator: ",").map {
                String($0.drop { $0 == " " }).replacing(/^\([a-z]+\)/, with: "").replacing(" ", with: "")
            }
        }
        var all = values(a)
        for value in values(b) where !all.contains(value) { all.append(value) }
        return all.count == 1 ? all[0] : "{ \(all.joined(separator: ", ")) }"
    }

    /// Returns the caps features of one structure as text; `nil` for plain system memory.
    private func features(_ index: UInt32) -> String? {
        guard let features = gst_caps_get_features(raw, index) else { return nil }
        let text = takeString(gst_caps_features_to_string(features))
        return text == "memory:SystemMemory" ? nil : text
    }

    private static func conflicts(
        _ mine: UnsafeMutablePointer<GstStructure>, _ theirs: UnsafeMutablePointer<GstStructure>
    ) -> [(field: String, values: String, otherValues: String)] {
        (0..<UInt32(max(0, gst_structure_n_fields(mine)))).compactMap { index in
            let field = gst_structure_nth_field_name(mine, index)!
            guard let value = gst_structure_get_value(mine, field),
                let otherValue = gst_structure_get_value(theirs, field),
                // gst_value_can_intersect returns true for every list.
                gst_value_intersect(nil, value, otherValue) == 0
            else { return nil }
            return (
                String(cString: field), takeString(gst_value_serialize(value)) ?? "",
                takeString(gst_value_serialize(otherValue)) ?? ""
            )
        }
    }
}

extension Caps {
    /// Returns caps that allow what either of the two allows.
    package func merged(with other: Caps) -> Caps {
        Caps(taking: gst_caps_merge(gst_caps_ref(raw), gst_caps_ref(other.raw)))
    }
}

extension Caps {
    /// Parses caps. Refuses text that GStreamer would misread, or would complain about on the terminal.
    package convenience init(checking text: String) throws(StructureTextError) {
        GStreamerRuntime.initialize()
        try StructureTextReader.checkCaps(text.utf8)
        guard let raw = gst_caps_from_string(text) else { throw .malformed }
        self.init(taking: raw)
    }
}
