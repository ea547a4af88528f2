/// Suggests what a number that GStreamer reads differently most likely means: `30000/1001` for `29.97`, `48000` for
/// `48k`.
enum NumberSuggestion {
    /// Returns the fraction that a number or a ratio stands for.
    ///
    /// - Parameter isRate: whether the number is a frame rate, so that rounded NTSC rates stand for n/1001.
    static func fraction(_ text: String, isRate: Bool) -> String? {
        let pattern = /\s*([0-9]*\.?[0-9]+)\s*(?:[\/:]\s*([0-9]*\.?[0-9]+))?\s*(?:fps|hz)?\s*/.ignoresCase()
        guard let match = text.wholeMatch(of: pattern), let numerator = Double(match.1) else { return nil }
        guard let denominator = match.2.map({ Double($0) }) else { return fraction(numerator, isRate: isRate) }
        guard let denominator, denominator > 0 else { return nil }
        return fraction(numerator / denominator, isRate: isRate)
    }

    static func fraction(_ number: Double, isRate: Bool) -> String? {
        guard number > 0, number < 100_000 else { return nil }
        if number == number.rounded() { return "\(Int(number))/1" }
        let whole = number.rounded(.up)
        if isRate, abs(whole / 1.001 - number) < 0.01 { return "\(Int(whole) * 1000)/1001" }
        // Take the first convergent of the continued fraction that is close enough. Most aspect ratios are rounded, so
        // their tolerance is larger.
        let tolerance = number * (isRate ? 1e-6 : 5e-4)
        var (before, last) = ((0, 1), (1, 0))
        var rest = number
        for _ in 0..<12 {
            let part = Int(rest.rounded(.down))
            (before, last) = (last, (part * last.0 + before.0, part * last.1 + before.1))
            if abs(Double(last.0) / Double(last.1) - number) <= tolerance { break }
            rest = 1 / (rest - Double(part))
            guard rest.isFinite, rest < 1e6, last.1 < 100_000 else { break }
        }
        return last.0 > 0 ? "\(last.0)/\(last.1)" : nil
    }

    /// Returns the number that a text such as `48k` stands for; `nil` without a `k`.
    static func thousands(_ text: String) -> String? {
        text.lowercased().hasSuffix("k") ? integer(text) : nil
    }

    /// Returns the number before a `k`; `nil` without a `k`.
    static func beforeK(_ text: String) -> String? {
        text.lowercased().hasSuffix("k") ? integer(String(text.dropLast())) : nil
    }

    /// Converts a time with a unit (`2s`, `200ms`) to the unit that a property's blurb names.
    static func time(_ text: String, _ blurb: String) -> (value: String, unit: String)? {
        let lengths = ["ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "min": 60e9]
        let pattern = /\s*([0-9]+(?:\.[0-9]+)?)\s*(ns|us|µs|ms|s|sec|min)\s*/.ignoresCase()
        guard let match = text.wholeMatch(of: pattern), let number = Double(match.1),
            let length = lengths[match.2.lowercased()], let unit = unit(in: blurb)
        else { return nil }
        let value = number * length / unit.nanoseconds
        guard value == value.rounded(), value < 1e18 else { return nil }
        return ("\(Int(value))", unit.name)
    }

    private static func unit(in blurb: String) -> (name: String, nanoseconds: Double)? {
        let units: [(Regex<Substring>, String, Double)] = [
            (/nanosec\w*|\bns\b/, "nanoseconds", 1), (/microsec\w*|\bus\b|\busec\b/, "microseconds", 1e3),
            (/millisec\w*|\bms\b|\bmsec\b/, "milliseconds", 1e6), (/\bseconds?\b/, "seconds", 1e9),
        ]
        let text = blurb.lowercased()
        if text.contains("per sec") { return nil }
        return units.first { text.contains($0.0) }.map { ($0.1, $0.2) }
    }

    static func integer(_ text: String) -> String? {
        let pattern = /\s*([0-9]+(?:\.[0-9]+)?)\s*(k)?\s*(?:hz|px)?\s*/.ignoresCase()
        guard let match = text.wholeMatch(of: pattern), let number = Double(match.1) else { return nil }
        return integer(match.2 == nil ? number : number * 1000)
    }

    static func integer(_ number: Double) -> String? {
        number > 0 && number < 2e9 ? "\(Int(number.rounded(.down)))" : nil
    }
}
