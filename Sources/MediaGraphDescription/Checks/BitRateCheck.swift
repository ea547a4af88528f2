import GStreamer

/// Finds bit rates of encoders in the wrong unit: `x264enc bitrate=2000000` is 2 Gbit/s, `vp8enc target-bitrate=2000`
/// is 2 kbit/s. Only a property's blurb names its unit.
enum BitRateCheck {
    /// The plausible bit rates of media for people, in bits per second, with a generous margin.
    private static let plausible: [(kind: String, range: ClosedRange<Double>)] = [
        ("Video", 10_000...400_000_000), ("Audio", 1_000...20_000_000),
    ]

    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.flatMap { index, factory -> [Problem] in
            guard factory.classification.contains("Encoder"),
                let range = plausible.first(where: { factory.classification.contains($0.kind) })?.range
            else { return [] }
            return context.parsed.elements[index].properties.compactMap { property in
                guard let info = factory.property(property.name), let unit = unit(of: info),
                    let value = Double(property.value), value > 0, !range.contains(value * unit.bits),
                    // PropertyCheck reports values out of range.
                    info.valueError(for: property.value) == nil
                else { return nil }
                let isLow = value * unit.bits < range.lowerBound
                let meant = unit.bits > 1 ? value / 1000 : value * 1000
                guard isLow == (unit.bits == 1), range.contains(meant * unit.bits), meant == meant.rounded() else {
                    return nil
                }
                return Problem(
                    place: .expanded(property.valueRange), severity: .warning,
                    message: "\(info.name) of \(context.label(index)) is in \(unit.name): this is "
                        + text(value * unit.bits),
                    hint: "for \(text(meant * unit.bits)) write \(info.name)=\(Int(meant))")
            }
        }
    }

    /// Returns what to write for a number that exceeds the range of a property in kbit/s; `nil` if the number makes no
    /// sense in bit/s either.
    static func remedy(_ value: String, _ info: PropertyInfo) -> String? {
        guard let unit = unit(of: info), unit.bits > 1, let bits = Double(value), bits >= 1000,
            info.valueError(for: "\(Int(bits / 1000))") == nil
        else { return nil }
        return "it is in \(unit.name): for \(text(bits)) write \(info.name)=\(Int(bits / 1000))"
    }

    static func isInKilobits(_ info: PropertyInfo) -> Bool { unit(of: info)?.bits == 1000 }

    private static func unit(of info: PropertyInfo) -> (name: String, bits: Double)? {
        guard info.name.hasSuffix("bitrate") else { return nil }
        let blurb = info.blurb.lowercased()
        if ["kbit", "kbps", "kilobit"].contains(where: blurb.contains) { return ("kbit/s", 1000) }
        return ["bits/s", "bit/s", "bps", "bits per sec"].contains(where: blurb.contains) ? ("bit/s", 1) : nil
    }

    private static func text(_ bits: Double) -> String {
        let units: [(String, Double)] = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)]
        let (unit, size) = units.first { bits >= $0.1 } ?? ("bit/s", 1)
        let number = (bits / size * 10).rounded() / 10
        return (number == number.rounded() ? "\(Int(number))" : "\(number)") + " \(unit)"
    }
}
