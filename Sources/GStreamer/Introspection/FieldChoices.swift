import CGStreamer

extension Structure {
    /// Returns the integers that a field of caps allows, as ranges. The field can be a value, a range, or a list of
    /// both.
    package func integers(_ field: String) -> [ClosedRange<Int>] {
        values(field).compactMap { value in
            let type = value.pointee.g_type
            if type == Int32.gtype {
                let number = Int(g_value_get_int(value))
                return number...number
            }
            guard type == gst_int_range_get_type() else { return nil }
            return Int(gst_value_get_int_range_min(value))...Int(gst_value_get_int_range_max(value))
        }
    }

    /// Returns the fractions that a field of caps allows, as ranges of decimal numbers.
    package func fractions(_ field: String) -> [ClosedRange<Double>] {
        func number(_ value: UnsafePointer<GValue>) -> Double {
            Double(gst_value_get_fraction_numerator(value))
                / Double(max(1, gst_value_get_fraction_denominator(value)))
        }
        return values(field).compactMap { value in
            let type = value.pointee.g_type
            if type == gst_fraction_get_type() { return number(value)...number(value) }
            guard type == gst_fraction_range_get_type(), let low = gst_value_get_fraction_range_min(value),
                let high = gst_value_get_fraction_range_max(value)
            else { return nil }
            return number(low)...number(high)
        }
    }

    /// Returns the fractions that a field of caps allows, as ranges of exact values.
    package func exactFractions(_ field: String) -> [(least: Fraction, greatest: Fraction)] {
        func fraction(_ value: UnsafePointer<GValue>) -> Fraction {
            Fraction(gst_value_get_fraction_numerator(value), gst_value_get_fraction_denominator(value))
        }
        return values(field).compactMap { value in
            let type = value.pointee.g_type
            if type == gst_fraction_get_type() { return (fraction(value), fraction(value)) }
            guard type == gst_fraction_range_get_type(), let low = gst_value_get_fraction_range_min(value),
                let high = gst_value_get_fraction_range_max(value)
            else { return nil }
            return (fraction(low), fraction(high))
        }
    }

    /// Returns the strings that a field of caps allows: the members of a list, or a single value.
    package func names(_ field: String) -> [String] {
        values(field).compactMap { value in
            value.pointee.g_type == String.gtype ? g_value_get_string(value).map { String(cString: $0) } : nil
        }
    }

    /// Returns the members of a field that is a list, or the field's single value.
    private func values(_ field: String) -> [UnsafePointer<GValue>] {
        guard let value = gst_structure_get_value(raw, field) else { return [] }
        guard value.pointee.g_type == gst_value_list_get_type() else { return [value] }
        return (0..<gst_value_list_get_size(value)).compactMap { gst_value_list_get_value(value, $0) }
    }
}
