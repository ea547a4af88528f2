import CGStreamer

/// A fraction of two integers (`GstFraction`). Equality compares numerators and denominators: 1/2 isn't equal to 2/4.
public struct Fraction: Sendable, Hashable, CustomStringConvertible {
    /// The numerator.
    public var numerator: Int32
    /// The denominator.
    public var denominator: Int32

    /// Creates a fraction, without reducing it.
    public init(_ numerator: Int32, _ denominator: Int32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    /// The fraction as a floating-point number; 0 if the denominator is 0.
    public var value: Double { denominator == 0 ? 0 : Double(numerator) / Double(denominator) }
    /// The fraction as in caps, such as "30/1".
    public var description: String { "\(numerator)/\(denominator)" }
}

extension Fraction: ValueConvertible {
    /// `GST_TYPE_FRACTION`.
    public static var gtype: GType { gst_fraction_get_type() }

    /// Reads the fraction from a value; `nil` if the value has another type.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { Fraction(gst_value_get_fraction_numerator($0), gst_value_get_fraction_denominator($0)) }
    }

    /// Writes the fraction to a value of the type `gtype`.
    public func store(in value: inout Value) { gst_value_set_fraction(&value.raw, numerator, denominator) }
}
