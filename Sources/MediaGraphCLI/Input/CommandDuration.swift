import ArgumentParser

/// A length of time on the command line: `10`, `2.5`, `90s`, `500ms`, `1m30s`, `1h`.
struct CommandDuration: ExpressibleByArgument, Equatable, Sendable {
    let seconds: Double

    static let longest = 1_000_000_000.0

    init?(argument: String) {
        let units: [(String, Double)] = [("ms", 0.001), ("h", 3600), ("m", 60), ("s", 1)]
        var rest = argument[...]
        var total = 0.0
        while !rest.isEmpty {
            let number = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
            guard let value = Double(number) else { return nil }
            rest = rest.dropFirst(number.count)
            if rest.isEmpty, number.count == argument.count {
                total = value
            } else {
                guard let (unit, factor) = units.first(where: { rest.hasPrefix($0.0) }) else { return nil }
                total += value * factor
                rest = rest.dropFirst(unit.count)
            }
        }
        guard total > 0, total <= Self.longest else { return nil }
        seconds = total
    }
}
