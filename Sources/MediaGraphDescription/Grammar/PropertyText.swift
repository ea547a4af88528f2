/// Removes the quotes and backslashes of values as GStreamer's parser does.
package enum PropertyText {
    /// Returns the value of `name=value` as the property's type reads it, like `gst_parse_split_assignment`.
    static func value(ofAssignment token: some Collection<UInt8>) -> [UInt8] {
        var rest = Array(token)[...]
        rest = rest.drop { !$0.isGLibSpace && $0 != UInt8(ascii: "=") }
        if rest.first != UInt8(ascii: "=") { rest = rest.dropFirst().drop(while: \.isGLibSpace) }
        rest = rest.dropFirst().drop(while: \.isGLibSpace)
        // Double quotes around the whole value are removed; single quotes are part of it. A value that is one double
        // quote counts as both its opening and its closing quote.
        if rest.first == UInt8(ascii: "\""), rest.last == UInt8(ascii: "\"") { rest = rest.dropFirst().dropLast() }
        return unescaped(rest)
    }

    /// Replaces each backslash by the character after it, except inside double quotes, which are kept, like
    /// `gst_parse_unescape`.
    static func unescaped(_ text: some Collection<UInt8>) -> [UInt8] {
        let text = Array(text)
        var result: [UInt8] = []
        var isQuoted = false
        var offset = 0
        while offset < text.count {
            if text[offset] == UInt8(ascii: "\\"), !isQuoted {
                offset += 1
                if offset == text.count { break }
            } else if text[offset] == UInt8(ascii: "\""),
                !isQuoted || offset > 0 && text[offset - 1] != UInt8(ascii: "\\")
            {
                isQuoted.toggle()
            }
            result.append(text[offset])
            offset += 1
        }
        return result
    }

    // MARK: Strings

    /// Returns whether a string property removes quotes from this value, as `gst_value_deserialize` does.
    static func isQuoted(_ text: [UInt8]) -> Bool {
        text.first == UInt8(ascii: "\"") && text.last == UInt8(ascii: "\"")
    }

    /// Quotes and escapes any text so that a string property reads it back unchanged, like `gst_string_wrap`.
    static func wrapped(_ text: [UInt8]) -> [UInt8] {
        let inner = text.flatMap { byte -> [UInt8] in
            if isPlain(byte) { return [byte] }
            let backslash = UInt8(ascii: "\\")
            if (0x20..<0x7F).contains(byte) { return [backslash, byte] }
            return [backslash] + [byte >> 6, byte >> 3 & 7, byte & 7].map { UInt8(ascii: "0") + $0 }
        }
        return [UInt8(ascii: "\"")] + inner + [UInt8(ascii: "\"")]
    }

    /// Returns the text that a string property reads from a value, like `gst_string_unwrap`; `nil` if GStreamer refuses
    /// the value.
    package static func unwrapped(_ text: [UInt8]) -> [UInt8]? {
        guard isQuoted(text) else { return text }
        guard text.count > 1 else { return nil }
        var result: [UInt8] = []
        var rest = text.dropFirst().dropLast()
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                guard isPlain(byte) else { return nil }
                result.append(byte)
                continue
            }
            let digits = rest.prefix(3).map { $0 &- UInt8(ascii: "0") }
            if digits.count == 3, digits[0] < 4, digits.allSatisfy({ $0 < 8 }) {
                result.append(digits[0] << 6 | digits[1] << 3 | digits[2])
                rest = rest.dropFirst(3)
            } else {
                guard let next = rest.popFirst() else { return nil }
                result.append(next)
            }
        }
        return result
    }

    /// `GST_ASCII_IS_STRING`
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "_-+/:.".utf8.contains(byte)
    }
}

/// Writes values so that `PropertyText` reads them back unchanged.
package enum DescriptionText {
    /// Returns a value as a description writes it: in quotes unless it is a plain word.
    package static func quoted(_ value: String) -> String {
        let isPlain = !value.isEmpty && value.unicodeScalars.allSatisfy { plain.contains($0) }
        return isPlain ? value : inQuotes(value)
    }

    /// Returns a value in double quotes, its quotes and backslashes escaped.
    package static func inQuotes(_ value: String) -> String {
        "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    private static let plain = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,@+".unicodeScalars)
}
