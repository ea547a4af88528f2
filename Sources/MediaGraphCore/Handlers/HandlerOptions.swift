import GStreamer
import Synchronization

/// The options of a handler, from a node's `options="key=value,key=value"`.
///
/// The text follows the rules of `GstStructure`: a value with a comma or a quote in it is written in double quotes,
/// with backslashes before inner quotes. Unlike there, file names and other text without commas need no quotes.
///
/// A key that the handler doesn't read is an error, so misspelled options are reported.
public final class HandlerOptions: Sendable {
    private let structure: Structure
    private let handler: String
    private let readKeys = Mutex<Set<String>>([])

    package static let syntax =
        #"write key=value, separated by commas; quote a value that contains spaces or commas: \"a b\""#

    /// Reads options from text, which may be empty. Throws `invalidParameter` if the text can't be parsed.
    public init(_ text: String, handler: String) throws(MediaGraphError) {
        self.handler = handler
        guard let structure = Self.parse(text) else {
            throw .invalidParameter(
                .init("options of \(handler)", expected: Self.syntax, actual: "\"\(text)\""))
        }
        self.structure = structure
    }

    /// Returns the keys in `text`; `nil` if the text can't be parsed.
    package static func keys(in text: String) -> [String]? { parse(text)?.fieldNames }

    /// Returns the options in `text` with their values, for tools that show them; `nil` if the text can't be parsed.
    package static func pairs(in text: String) -> [(name: String, value: String)]? {
        parse(text).map { structure in structure.fieldNames.map { ($0, structure.text($0) ?? "") } }
    }

    private static func parse(_ text: String) -> Structure? {
        guard !text.allSatisfy(\.isWhitespace) else { return Structure("options") }
        return Structure(parsing: "options, \(quotingValues(of: text))")
    }

    /// Quotes unquoted values and marks all values as strings. GstStructure allows only letters, digits and `_-+/:.`
    /// without quotes, and converts values to numbers where it can: a file "007" would become 7, a folder "2/4" a half.
    /// Quotes alone aren't enough: GStreamer 1.22 warns about a quoted number, and still reads it as a number.
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

    /// Returns `text` with the option `key` replaced by `field`, or removed if `field` is `nil`.
    package static func replacing(_ key: String, with field: String?, in text: String) -> String {
        let others = fields(of: text).filter { trimmed($0.prefix { $0 != "=" }) != key[...] && !trimmed($0).isEmpty }
        return (others.map(String.init) + [field].compactMap(\.self)).joined(separator: ",")
    }

    /// Splits the text at commas outside of quotes.
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

    /// Returns the option's text; `nil` if the option isn't set.
    public func text(_ key: String) -> String? {
        readKeys.withLock { _ = $0.insert(key) }
        return structure.text(key)
    }

    /// Returns the text of a required option. Throws `invalidParameter` if the option isn't set or is empty.
    public func string(_ key: String) throws(MediaGraphError) -> String {
        guard let value = text(key), !value.isEmpty else {
            throw .invalidParameter(.init(Self.subject(key, handler), actual: "is missing; add \(key)=…"))
        }
        return value
    }

    /// Returns the option's text, or `value` if the option isn't set.
    public func string(_ key: String, default value: String) -> String { text(key) ?? value }

    /// Returns the option as a whole number, or `value` if the option isn't set. Throws `invalidParameter` if the text
    /// isn't a number in `range`.
    public func int(_ key: String, in range: ClosedRange<Int>, default value: Int) throws(MediaGraphError) -> Int {
        guard let text = text(key) else { return value }
        guard let number = Int(text), range.contains(number) else {
            throw wrong(key, "a whole number from \(range.lowerBound) to \(range.upperBound)", text)
        }
        return number
    }

    /// Returns the option as a number, or `value` if the option isn't set. Throws `invalidParameter` if the text isn't
    /// a number in `range`.
    public func double(
        _ key: String, in range: ClosedRange<Double>, default value: Double
    ) throws(MediaGraphError) -> Double {
        guard let text = text(key) else { return value }
        guard let number = Double(text), range.contains(number) else {
            throw wrong(key, "a number from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))", text)
        }
        return number
    }

    /// Writes whole numbers without decimals, such as 1 instead of 1.0.
    private static func text(_ number: Double) -> String { Int(exactly: number).map(String.init) ?? "\(number)" }

    /// Returns the option as a Boolean (`true`, `yes`, `1`, or `false`, `no`, `0`), or `value` if the option isn't set.
    /// Throws `invalidParameter` for other text.
    public func bool(_ key: String, default value: Bool) throws(MediaGraphError) -> Bool {
        guard let text = text(key)?.lowercased() else { return value }
        switch text {
        case "true", "yes", "1": return true
        case "false", "no", "0": return false
        default: throw wrong(key, "true or false", text)
        }
    }

    /// Returns the option as a case of an enumeration, by its raw value, or `value` if the option isn't set. Throws
    /// `invalidParameter` for other text.
    public func choice<T: CaseIterable & RawRepresentable>(
        _ key: String, default value: T
    ) throws(MediaGraphError) -> T where T.RawValue == String {
        guard let text = text(key) else { return value }
        guard let choice = T(rawValue: text) else {
            throw wrong(key, "one of " + T.allCases.map(\.rawValue).joined(separator: ", "), text)
        }
        return choice
    }

    /// Returns the option as a positive fraction, such as 30000/1001 or 30, or `value` if the option isn't set. Throws
    /// `invalidParameter` for other text.
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

    /// Returns the subject of errors about an option.
    package static func subject(_ key: String, _ handler: String) -> String { "option \(key) of \(handler)" }

    package func wrong(_ key: String, _ expected: String, _ actual: String) -> MediaGraphError {
        .invalidParameter(.init(Self.subject(key, handler), expected: expected, actual: "\"\(actual)\""))
    }

    /// Throws `invalidParameter` if an option was set that the handler hasn't read.
    package func checkUnknown() throws(MediaGraphError) {
        let readKeys = readKeys.withLock { $0 }
        guard let unknown = structure.fieldNames.first(where: { !readKeys.contains($0) }) else { return }
        let known = readKeys.sorted().joined(separator: ", ")
        throw .invalidParameter(
            .init(
                "options of \(handler)",
                actual: "there is no option \"\(unknown)\"; "
                    + (known.isEmpty ? "the handler has no options" : "available options: \(known)")))
    }
}
