/// User names in pad names. A description can link `call.video_bob`, but GStreamer's grammar refuses `.`, `@`, `/` and
/// letters outside ASCII there: letters, digits and `-` stand for themselves, every other UTF-8 byte is written `_XX`
/// in hexadecimal.
public enum PadName {
    /// Why a pad name isn't an escaped user name.
    public enum UnescapeError: Error, Sendable, Hashable, CustomStringConvertible {
        /// `_` without two hexadecimal digits after it.
        case badEscape(String)
        /// A character that `escape` would have escaped.
        case badCharacter(Character)
        /// The escapes aren't UTF-8.
        case notUTF8
        /// An escape of a character that stands for itself, or in lower case: two pad names would be one user.
        case notCanonical(String)

        /// What is wrong with the name.
        public var description: String {
            switch self {
            case .badEscape(let text): "\"\(text)\" isn't \"_\" and two hexadecimal digits"
            case .badCharacter(let character): "\"\(character)\" must be written in hexadecimal, as _XX"
            case .notUTF8: "the escapes don't make UTF-8"
            case .notCanonical(let name): "write it as \"\(name)\""
            }
        }
    }

    /// What messages say of it.
    static let rule = "other bytes than letters, digits and - are _XX, in hexadecimal"

    private static func isPlain(_ byte: UInt8) -> Bool { byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") }

    /// `anna@x.de` is `anna_40x_2Ede`.
    public static func escape(_ name: String) -> String {
        name.utf8.map { byte in
            guard !isPlain(byte) else { return String(Unicode.Scalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "_" + (digits.count < 2 ? "0" : "") + digits
        }.joined()
    }

    /// The user name that `escape` made this pad name from.
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
