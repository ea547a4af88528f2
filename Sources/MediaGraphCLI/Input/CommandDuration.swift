import GStreamer

/// A length of time on the command line: `10`, `2.5`, `90s`, `500ms`, `1m30s`, `1h`.
struct CommandDuration: Equatable, Sendable {
    let seconds: Double

    static let longest = 1_000_000_000.0

    enum Problem: Error, Equatable, CustomStringConvertible {
        case notPositive, tooLong, unreadable

        var description: String {
            switch self {
            case .notPositive: "it must be more than 0"
            case .tooLong: "it must be at most \(Int(CommandDuration.longest)) s"
            case .unreadable: "give seconds, or numbers with h, m, s or ms: 10, 2.5, 1m30s, 500ms"
            }
        }
    }

    init(parsing text: String) throws(Problem) {
        let units: [(String, Double)] = [("ms", 0.001), ("h", 3600), ("m", 60), ("s", 1)]
        let unsigned = text.first == "-" ? text.dropFirst() : text[...]
        guard !unsigned.isEmpty else { throw .unreadable }
        var rest = unsigned
        var total = 0.0
        while !rest.isEmpty {
            let number = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
            guard let value = Double(number) else { throw .unreadable }
            rest = rest.dropFirst(number.count)
            if rest.isEmpty, number.count == unsigned.count {
                total = value
            } else {
                guard let (unit, factor) = units.first(where: { rest.hasPrefix($0.0) }) else { throw .unreadable }
                total += value * factor
                rest = rest.dropFirst(unit.count)
            }
        }
        guard unsigned.count == text.count, total > 0 else { throw .notPositive }
        guard total <= Self.longest else { throw .tooLong }
        seconds = total
    }

    var clockTime: ClockTime { ClockTime(nanoseconds: UInt64((seconds * 1e9).rounded())) }
}
