extension LexerPatterns {
    /// `_link ([!:][[:space:]]*{_caps}([[:space:]]*(";"[[:space:]]*{_caps})*[[:space:]]*)*[!:])|([!:])`, where
    /// `_caps {_mimetype}(","[^!]|{_capsstring})*` and `_capschar ("\\".)|([^\;!])`
    ///
    /// The whole filter with both operators is one token. A `:` may be part of the caps or end them, so the longest
    /// match is found by following all possible readings in parallel.
    func link(_ start: Int) -> Token? {
        guard has("!", start) || has(":", start) else { return nil }
        let isAll = has(":", start)
        guard let end = filterEnd(start) else {
            return Token(kind: .link(all: isAll, caps: nil), range: start..<start + 1)
        }
        let caps = trimmed(start + 1..<end - 1)
        return Token(kind: .link(all: isAll || has(":", end - 1), caps: caps), range: start..<end)
    }

    /// Returns the end of the longest filter, including its closing operator.
    private func filterEnd(_ start: Int) -> Int? {
        guard var offset = mediaTypeEnd(skipSpace(start + 1)) else { return nil }
        var longest: Int?
        // Whether, in some reading of the text, this offset or one of the next two is between two characters of the
        // caps.
        var isReached = true
        var isReachedNext = false
        var isReachedAfterNext = false
        while offset < bytes.count, isReached || isReachedNext {
            if isReached {
                let byte = bytes[offset]
                if byte == UInt8(ascii: "!") || byte == UInt8(ascii: ":") { longest = offset + 1 }
                if byte != UInt8(ascii: "!"), byte != UInt8(ascii: ";") { isReachedNext = true }
                if offset + 1 < bytes.count {
                    let next = bytes[offset + 1]
                    let pairs =
                        byte == UInt8(ascii: "\\") && next != UInt8(ascii: "\n")
                        || byte == UInt8(ascii: ",") && next != UInt8(ascii: "!")
                    if pairs { isReachedAfterNext = true }
                }
                if byte == UInt8(ascii: ";"), let end = mediaTypeEnd(skipSpace(offset + 1)) {
                    // No other reading is inside the media type, so continue after it.
                    if !isReachedNext, !isReachedAfterNext {
                        offset = end
                        continue
                    }
                }
            }
            offset += 1
            isReached = isReachedNext
            isReachedNext = isReachedAfterNext
            isReachedAfterNext = false
        }
        return longest
    }

    /// `_mimetype {_mimechar}+"/"{_mimechar}+`
    private func mediaTypeEnd(_ start: Int) -> Int? {
        guard start < bytes.count else { return nil }
        let type = bytes[start...].prefix(while: \.isMediaTypeCharacter)
        guard !type.isEmpty, has("/", type.endIndex) else { return nil }
        let subtype = bytes[(type.endIndex + 1)...].prefix(while: \.isMediaTypeCharacter)
        return subtype.isEmpty ? nil : subtype.endIndex
    }

    private func trimmed(_ range: Range<Int>) -> Range<Int> {
        var range = range
        while let first = range.first, bytes[first].isGLibSpace { range.removeFirst() }
        while let last = range.last, bytes[last].isGLibSpace { range.removeLast() }
        return range
    }
}
