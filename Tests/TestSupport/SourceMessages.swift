/// The texts of errors and warnings in Swift code, found without running it. Interpolations are shown as `…`.
public struct SourceMessages {
    /// The calls whose arguments are texts for users.
    private static let calls: Set = [
        "wrongUsage", "uninitialized", "alreadyInUse", "invalidParameter", "tooFrequent", "tooMuchAtOnce",
        "unsupported", "notPermitted", "notInSession", "noSuchUser", "noVideo", "noShare", "noAudio", "noDevice",
        "deviceBusy", "deviceGone", "allocationFailed", "processingFailed", "lockedWhileRunning", "timeOut",
        "internalError", "Detail", "detail", "PropertyRefused", "refused", "wrong", "postError", "postWarning",
        "warning", "warn", "error", "fail", "diagnostic", "Problem", "problem", "report", "Finding",
        "ValidationError",
    ]
    private static let description = "description:String"

    private var bytes: [UInt8]
    private var position = 0
    /// The names of the calls, and the marks of the braces, around the position.
    private var enclosing: [String] = []
    private var words: [String] = []
    private var found: [String] = []

    /// Returns the texts in a file's code, in order: those in calls that report something to users, and in properties
    /// called `description`.
    ///
    /// - Parameter isAll: Whether every text of at least three words is one for users.
    public static func texts(in code: String, isAll: Bool = false) -> [String] {
        var scan = SourceMessages(bytes: Array(code.utf8))
        scan.run(isAll)
        return scan.found
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Returns whether a line shows a text, whatever its interpolations are.
    public static func shows(_ line: String, _ text: String) -> Bool {
        var rest = line[...]
        for part in text.split(separator: "…") {
            guard let range = rest.firstRange(of: part) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }

    private mutating func run(_ isAll: Bool) {
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "/") where starts(with: "//"): skipLine()
            case UInt8(ascii: "\""):
                let text = joinedLiterals()
                let isForUsers = isAll || enclosing.contains { Self.calls.contains($0) || $0 == Self.description }
                if isForUsers, text.utf8.count(where: { $0 == UInt8(ascii: " ") }) >= 2 { found.append(text) }
            case UInt8(ascii: "("): open(words.last ?? "")
            case UInt8(ascii: "{"):
                open(words.suffix(2) == ["description", "String"] ? Self.description : "{")
            case UInt8(ascii: ")"), UInt8(ascii: "}"):
                enclosing.popLast().map { _ in () }
                words = []
                position += 1
            case let byte where Self.isWord(byte): readWord()
            case let byte:
                // Only the name directly before a parenthesis is that of a call.
                if byte != UInt8(ascii: " "), byte != UInt8(ascii: ":") { words = [] }
                position += 1
            }
        }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == UInt8(ascii: "_") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    private func starts(with text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    private mutating func skipLine() {
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
    }

    private mutating func open(_ name: String) {
        enclosing.append(name)
        words = []
        position += 1
    }

    private mutating func readWord() {
        let start = position
        while position < bytes.count, Self.isWord(bytes[position]) { position += 1 }
        words.append(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    /// Reads a literal and those that `+` joins to it.
    private mutating func joinedLiterals() -> String {
        var text = literal()
        while true {
            let end = position
            skipSpace()
            guard position < bytes.count, bytes[position] == UInt8(ascii: "+") else {
                position = end
                return text
            }
            position += 1
            skipSpace()
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                position = end
                return text
            }
            text += literal()
        }
    }

    private mutating func skipSpace() {
        while position < bytes.count, bytes[position] == UInt8(ascii: " ") || bytes[position] == UInt8(ascii: "\n") {
            position += 1
        }
    }

    private mutating func literal() -> String {
        let isLong = starts(with: "\"\"\"")
        position += isLong ? 3 : 1
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            if isLong ? starts(with: "\"\"\"") : byte == UInt8(ascii: "\"") {
                position += isLong ? 3 : 1
                break
            }
            // A literal can't go on in the next line, so this isn't one: the quote was in a regular expression.
            if byte == UInt8(ascii: "\n"), !isLong { return "" }
            guard byte == UInt8(ascii: "\\"), position + 1 < bytes.count else {
                text.append(byte)
                position += 1
                continue
            }
            position += 2
            switch bytes[position - 1] {
            case UInt8(ascii: "("):
                skipInterpolation()
                text += Array("…".utf8)
            case UInt8(ascii: "\n"): break
            case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
            case let escaped: text.append(escaped)
            }
        }
        let decoded = String(decoding: text, as: UTF8.self)
        return isLong ? decoded.split(whereSeparator: \.isWhitespace).joined(separator: " ") : decoded
    }

    private mutating func skipInterpolation() {
        var depth = 1
        while position < bytes.count, depth > 0 {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                _ = literal()
                continue
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"): depth -= 1
            case UInt8(ascii: "\n"): break
            default: break
            }
            position += 1
        }
    }
}
