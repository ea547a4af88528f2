/// How GStreamer's parser takes off the quotes and backslashes of a value.
package enum PropertyText {
    /// `gst_parse_split_assignment`: the value of `name=value` as the property's type reads it.
    static func value(ofAssignment token: some Collection<UInt8>) -> [UInt8] {
        var rest = Array(token)[...]
        rest = rest.drop { !$0.isGLibSpace && $0 != UInt8(ascii: "=") }
        if rest.first != UInt8(ascii: "=") { rest = rest.dropFirst().drop(while: \.isGLibSpace) }
        rest = rest.dropFirst().drop(while: \.isGLibSpace)
        // Double quotes around all of it are dropped, single ones belong to the value. A lone quote counts as both.
        if rest.first == UInt8(ascii: "\""), rest.last == UInt8(ascii: "\"") { rest = rest.dropFirst().dropLast() }
        return unescaped(rest)
    }

    /// `gst_parse_unescape`: a backslash stands for the character after it, but not inside double quotes, which stay.
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

    /// Whether a string property takes quotes off this value, as `gst_value_deserialize` does.
    static func isQuoted(_ text: [UInt8]) -> Bool {
        text.first == UInt8(ascii: "\"") && text.last == UInt8(ascii: "\"")
    }

    /// `gst_string_wrap`: a text as a string property reads it, whatever the text holds.
    static func wrapped(_ text: [UInt8]) -> [UInt8] {
        let inner = text.flatMap { byte -> [UInt8] in
            if isPlain(byte) { return [byte] }
            let backslash = UInt8(ascii: "\\")
            if (0x20..<0x7F).contains(byte) { return [backslash, byte] }
            return [backslash] + [byte >> 6, byte >> 3 & 7, byte & 7].map { UInt8(ascii: "0") + $0 }
        }
        return [UInt8(ascii: "\"")] + inner + [UInt8(ascii: "\"")]
    }

    /// `gst_string_unwrap`: what a string property makes of its value; `nil` where GStreamer refuses it.
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
