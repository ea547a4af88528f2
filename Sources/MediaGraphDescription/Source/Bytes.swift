// GStreamer's lexer is generated for the C locale and works on bytes: a byte above ASCII is an ordinary character in a
// string, and isn't allowed in a name.
extension UInt8 {
    /// The placeholder for the value of an undefined variable. This byte never occurs in UTF-8. It counts as part of a
    /// name, so that a missing value causes no further errors.
    static let unknownText: UInt8 = 0xFF

    /// flex's `[:space:]`.
    var isSpace: Bool { self == UInt8(ascii: " ") || (0x09...0x0D).contains(self) }
    /// `g_ascii_isspace`, which doesn't include the vertical tab.
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
    /// The text for messages. Each undefined variable is shown as an ellipsis.
    var text: String { String(decoding: flatMap { $0 == .unknownText ? Array("…".utf8) : [$0] }, as: UTF8.self) }
    /// Whether the text contains an undefined variable.
    var isUnknown: Bool { contains(.unknownText) }
}
