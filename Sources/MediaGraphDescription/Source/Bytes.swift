// GStreamer's lexer is generated for the C locale and works on bytes: everything above ASCII is an ordinary character
// in a string and not allowed in a name.
extension UInt8 {
    /// Stands for what an undefined variable would expand to. It never occurs in UTF-8, and counts as part of a name, so
    /// that one missing value isn't followed by errors about what it would have been.
    static let unknownText: UInt8 = 0xFF

    /// flex's `[:space:]`.
    var isSpace: Bool { self == UInt8(ascii: " ") || (0x09...0x0D).contains(self) }
    /// `g_ascii_isspace`, which leaves out the vertical tab.
    var isGLibSpace: Bool { isSpace && self != 0x0B }
    var isLetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
    var isDigit: Bool { (0x30...0x39).contains(self) }
    var isAlphanumeric: Bool { isLetter || isDigit || self == .unknownText }

    /// `_identifier [[:alnum:]_][[:alnum:]\-_%:]*`
    var startsIdentifier: Bool { isAlphanumeric || self == UInt8(ascii: "_") }
    var continuesIdentifier: Bool {
        startsIdentifier || self == UInt8(ascii: "-") || self == UInt8(ascii: "%") || self == UInt8(ascii: ":")
    }
    /// `_mimechar [[:alnum:]-]`
    var isMediaTypeCharacter: Bool { isAlphanumeric || self == UInt8(ascii: "-") }
}

extension Collection<UInt8> {
    /// Text for people: an undefined variable's place is shown as an ellipsis.
    var text: String { String(decoding: flatMap { $0 == .unknownText ? Array("…".utf8) : [$0] }, as: UTF8.self) }
    var isUnknown: Bool { contains(.unknownText) }
}
