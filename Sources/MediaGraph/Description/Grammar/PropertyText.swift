/// How GStreamer's parser takes off the quotes and backslashes of a value.
enum PropertyText {
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
}
