import GStreamer
import Synchronization

/// The `options="key=value,key=value"` of a node, read by `GstStructure`'s rules: a value with a comma or a quote is
/// written in double quotes with backslashes. A value that
/// needs quotes only for being a file name or free text needs none.
///
/// A key that the handler never asked for is an error, so a typing mistake can't go unnoticed.
public final class HandlerOptions: Sendable {
    private let structure: Structure
    private let handler: String
    private let asked = Mutex<Set<String>>([])

    package static let syntax =
        #"key=value, separated by commas; a value with spaces or commas in it needs quotes, \"a b\""#

    /// `text` is empty where there are no options.
    public init(_ text: String, handler: String) throws(MediaGraphError) {
        self.handler = handler
        guard let structure = Self.parse(text) else {
            throw .invalidParameter(
                .init("options of \(handler)", expected: Self.syntax, actual: "\"\(text)\""))
        }
        self.structure = structure
    }

    /// The keys in `text`; `nil` when it can't be read.
    package static func keys(in text: String) -> [String]? { parse(text)?.fieldNames }

    /// The options in `text` and their values, for tools that show them; `nil` when it can't be read.
    package static func pairs(in text: String) -> [(name: String, value: String)]? {
        parse(text).map { structure in structure.fieldNames.map { ($0, structure.text($0) ?? "") } }
    }

    private static func parse(_ text: String) -> Structure? {
        guard !text.allSatisfy(\.isWhitespace) else { return Structure("options") }
        return Structure(parsing: "options, \(quotingValues(of: text))")
    }

    /// GstStructure takes bare only letters, digits and `_-+/:.`, and reads what it can as a number: a file 007 would be 7,
    /// a folder 2/4 a half. So bare values are quoted here for the user, and all are marked as strings: 1.22 warns of a number
    /// in quotes, and reads it as a number.
    private static func quotingValues(of text: String) -> String {
        fields(of: text).map { field in
            guard let equals = field.firstIndex(of: "=") else { return String(field) }
            let value = trimmed(field[field.index(after: equals)...])
            if value.hasPrefix("(") { return String(field) }
            if value.hasPrefix("\"") { return "\(field[..<equals])=(string)\(value)" }
            let escaped = value.reduce(into: "") { $0 += $1 == "\\" || $1 == "\"" ? "\\\($1)" : "\($1)" }
            return "\(field[..<equals])=(string)\"\(escaped)\""
        }.joined(separator: ",")
    }

    /// The text with `field` instead of what it says about this option.
    package static func replacing(_ key: String, with field: String?, in text: String) -> String {
        let others = fields(of: text).filter { trimmed($0.prefix { $0 != "=" }) != key[...] && !trimmed($0).isEmpty }
        return (others.map(String.init) + [field].compactMap(\.self)).joined(separator: ",")
    }

    /// The parts between the commas that aren't quoted.
    private static func fields(of text: String) -> [Substring] {
        var fields: [Substring] = []
        var start = text.startIndex
        var quoted = false
        var escaped = false
        for index in text.indices {
            switch text[index] {
            case "\\" where !escaped:
                escaped = true
                continue
            case "\"" where !escaped: quoted.toggle()
            case "," where !quoted && !escaped:
                fields.append(text[start..<index])
                start = text.index(after: index)
            default: break
            }
            escaped = false
        }
        fields.append(text[start...])
        return fields
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var rest = text.drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }

    /// The value as text; `nil` when it isn't given.
    public func text(_ key: String) -> String? {
        asked.withLock { _ = $0.insert(key) }
        return structure.text(key)
    }

    /// A text that must be given.
    public func string(_ key: String) throws(MediaGraphError) -> String {
        guard let value = text(key), !value.isEmpty else {
            throw .invalidParameter(.init(Self.subject(key, handler), expected: "\(key)=…", actual: "nothing"))
        }
        return value
    }

    /// The option's text, or `value` if the option isn't set.
    public func string(_ key: String, default value: String) -> String { text(key) ?? value }

    /// A whole number, or `value` if the option isn't set. Throws `invalidParameter` for text that isn't a number in `range`.
    public func int(_ key: String, in range: ClosedRange<Int>, default value: Int) throws(MediaGraphError) -> Int {
        guard let text = text(key) else { return value }
        guard let number = Int(text), range.contains(number) else {
            throw wrong(key, "a whole number from \(range.lowerBound) to \(range.upperBound)", text)
        }
        return number
    }

    /// A number, or `value` if the option isn't set. Throws `invalidParameter` for text that isn't a number in `range`.
    public func double(
        _ key: String, in range: ClosedRange<Double>, default value: Double
    ) throws(MediaGraphError) -> Double {
        guard let text = text(key) else { return value }
        guard let number = Double(text), range.contains(number) else {
            throw wrong(key, "a number from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))", text)
        }
        return number
    }

    /// 1 rather than 1.0.
    private static func text(_ number: Double) -> String { Int(exactly: number).map(String.init) ?? "\(number)" }

    /// `true`, `yes` or `1`, and `false`, `no` or `0`; `value` when it isn't given. Throws `invalidParameter` for
    /// other text.
    public func bool(_ key: String, default value: Bool) throws(MediaGraphError) -> Bool {
        guard let text = text(key)?.lowercased() else { return value }
        switch text {
        case "true", "yes", "1": return true
        case "false", "no", "0": return false
        default: throw wrong(key, "true or false", text)
        }
    }

    /// One of an enum's names.
    public func choice<T: CaseIterable & RawRepresentable>(
        _ key: String, default value: T
    ) throws(MediaGraphError) -> T where T.RawValue == String {
        guard let text = text(key) else { return value }
        guard let choice = T(rawValue: text) else {
            throw wrong(key, "one of " + T.allCases.map(\.rawValue).joined(separator: ", "), text)
        }
        return choice
    }

    /// A ratio such as 30000/1001, or a whole number.
    public func fraction(_ key: String, default value: Fraction) throws(MediaGraphError) -> Fraction {
        guard let text = text(key) else { return value }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int32($0) }
        switch parts.count {
        case 1: if let number = parts[0], number > 0 { return Fraction(number, 1) }
        case 2: if let a = parts[0], let b = parts[1], a > 0, b > 0 { return Fraction(a, b) }
        default: break
        }
        throw wrong(key, "a rate such as 30 or 30000/1001", text)
    }

    /// What an error about one option is about.
    package static func subject(_ key: String, _ handler: String) -> String { "option \(key) of \(handler)" }

    package func wrong(_ key: String, _ expected: String, _ actual: String) -> MediaGraphError {
        .invalidParameter(.init(Self.subject(key, handler), expected: expected, actual: "\"\(actual)\""))
    }

    /// Throws when something was given that nobody asked for.
    package func refuseUnknown() throws(MediaGraphError) {
        let asked = asked.withLock { $0 }
        guard let unknown = structure.fieldNames.first(where: { !asked.contains($0) }) else { return }
        let known = asked.sorted().joined(separator: ", ")
        throw .invalidParameter(
            .init("options of \(handler)", expected: known.isEmpty ? "none" : "only \(known)", actual: unknown))
    }
}
