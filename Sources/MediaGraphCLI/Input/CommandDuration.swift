import GStreamer

/// A duration or position given on the command line: `10`, `2.5`, `90s`, `500ms`, `1m30s`, `1h`, `1:30`, `1:02:30.5`.
struct CommandDuration: Equatable, Sendable {
    let seconds: Double

    /// The maximum, in seconds.
    static let longest = 1_000_000_000.0

    enum Problem: Error, Equatable, CustomStringConvertible {
        case notPositive, tooLong, unreadable

        var description: String {
            switch self {
            case .notPositive: "it must be more than 0"
            case .tooLong: "it must be at most \(Int(CommandDuration.longest)) s"
            case .unreadable: "give a time in seconds, with units or as on a clock: 10, 2.5, 1m30s, 500ms, 1:30"
            }
        }
    }

    /// Parses a time.
    ///
    /// - Parameter mayBeZero: Whether 0 is allowed, as for a position in a file.
    init(parsing text: String, mayBeZero: Bool = false) throws(Problem) {
        let units: [(String, Double)] = [("ms", 0.001), ("h", 3600), ("m", 60), ("s", 1)]
        let unsigned = text.first == "-" ? text.dropFirst() : text[...]
        guard !unsigned.isEmpty else { throw .unreadable }
        var rest = unsigned
        var total = 0.0
        if rest.contains(":") {
            total = try Self.clock(rest)
            rest = ""
        }
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
        guard unsigned.count == text.count, total > 0 || mayBeZero else { throw .notPositive }
        guard total <= Self.longest else { throw .tooLong }
        seconds = total
    }

    /// Parses `1:30` or `1:02:30.5`. All numbers but the first must be below 60.
    private static func clock(_ text: Substring) throws(Problem) -> Double {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var total = 0.0
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            guard part.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == "." && isLast) }), let value = Double(part),
                parts.count <= 3, index == 0 || value < 60
            else { throw .unreadable }
            total = total * 60 + value
        }
        return total
    }

    var clockTime: ClockTime { ClockTime(nanoseconds: UInt64((seconds * 1e9).rounded())) }
}
