/// Formats numbers for reports, independently of the locale.
enum Numbers {
    /// Formats a number with as many decimal places as it needs, but at most three.
    static func shortest(_ value: Double) -> String {
        var text = fixed(value, 3)
        while text.hasSuffix("0") { text.removeLast() }
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }

    /// Formats a number with a fixed number of decimal places.
    static func fixed(_ value: Double, _ places: Int) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
        let scale = (0..<places).reduce(1) { scale, _ in scale * 10 }
        let scaled = Int((abs(value) * Double(scale)).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard places > 0 else { return "\(sign)\(scaled)" }
        let fraction = String(scaled % scale)
        return "\(sign)\(scaled / scale).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
    }

    /// Formats a duration exactly, in the largest unit that fits into it: "6 s", "1.5 ms".
    static func time(nanoseconds: Int64) -> String {
        let length = nanoseconds.magnitude
        let units: [(name: String, places: Int, length: UInt64)] = [
            ("s", 9, 1_000_000_000), ("ms", 6, 1_000_000), ("µs", 3, 1_000),
        ]
        let sign = nanoseconds < 0 ? "-" : ""
        guard let unit = units.first(where: { length >= $0.length }) else { return "\(sign)\(length) ns" }
        let digits = String(length % unit.length)
        var fraction = String(repeating: "0", count: unit.places - digits.count) + digits
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return "\(sign)\(length / unit.length)\(fraction.isEmpty ? "" : ".\(fraction)") \(unit.name)"
    }
}

/// Formats durations for reports.
enum DurationText {
    /// Formats a duration as hours, minutes and seconds: `00:01:30`.
    static func text(_ seconds: Double) -> String {
        let whole = Int(min(max(seconds, 0), 1e12))
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(two(whole / 3600)):\(two(whole / 60 % 60)):\(two(whole % 60))"
    }
}
