/// Converts user names to and from the form that they have in pad names.
///
/// A description can link `call.video_bob`, but GStreamer's grammar doesn't allow `.`, `@`, `/` and letters outside
/// ASCII in pad names. ASCII letters, digits and `-` stand for themselves; every other UTF-8 byte is written `_XX`, in
/// hexadecimal.
public enum PadName {
    /// Why a pad name isn't an escaped user name.
    public enum UnescapeError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The name contains a `_` without two hexadecimal digits after it.
        case badEscape(String)
        /// The name contains a character that `escape` would have escaped.
        case badCharacter(Character)
        /// The unescaped bytes aren't valid UTF-8.
        case notUTF8
        /// The name escapes a character that stands for itself, or uses lower-case digits. Such names are refused
        /// because two pad names would stand for the same user. The value is the only name that stands for the user.
        case notCanonical(String)

        /// What is wrong with the name.
        public var description: String {
            switch self {
            case .badEscape(let text): "\"\(text)\" isn't \"_\" followed by two hexadecimal digits"
            case .badCharacter(let character): "\"\(character)\" must be written in hexadecimal, as _XX"
            case .notUTF8: "the escaped bytes aren't valid UTF-8"
            case .notCanonical(let name): "the only escaped form of this user's name is \"\(name)\""
            }
        }
    }

    /// The rule as messages state it.
    static let rule = "write every byte except letters, digits and - as _XX, in hexadecimal"

    private static func isPlain(_ byte: UInt8) -> Bool { byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") }

    /// Returns a user name as it is written in a pad name: `anna_40x_2Ede` for `anna@x.de`.
    public static func escape(_ name: String) -> String {
        name.utf8.map { byte in
            guard !isPlain(byte) else { return String(Unicode.Scalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "_" + (digits.count < 2 ? "0" : "") + digits
        }.joined()
    }

    /// Returns the user name from which `escape` made `padName`.
    public static func unescape(_ padName: String) throws(UnescapeError) -> String {
        var bytes: [UInt8] = []
        var rest = padName[...]
        while let character = rest.popFirst() {
            if character == "_" {
                let digits = rest.prefix(2)
                guard digits.count == 2, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }),
                    let byte = UInt8(digits, radix: 16)
                else { throw .badEscape("_\(digits)") }
                bytes.append(byte)
                rest = rest.dropFirst(2)
            } else {
                guard let byte = character.asciiValue, isPlain(byte) else { throw .badCharacter(character) }
                bytes.append(byte)
            }
        }
        guard let name = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
        let canonical = escape(name)
        guard canonical == padName else { throw .notCanonical(canonical) }
        return name
    }
}
