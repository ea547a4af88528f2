import MediaGraphCore

/// A file name with one placeholder for a number: `%d`, or `%0Nd` for a number padded with zeros to N digits. `%%`
/// stands for a percent sign.
///
/// Doesn't use printf, since a text from a description must never be a format string.
struct FileNamePattern: Sendable {
    private let prefix: String
    private let digits: Int?
    private let suffix: String

    /// Throws `invalidParameter` for any other placeholder, and for more than one. Without a placeholder, all numbers
    /// give the same name.
    init(_ pattern: String, option: String) throws(MediaGraphError) {
        let wrong = MediaGraphError.invalidParameter(
            .init(option, expected: "a name with one %d or %0Nd (N from 1 to 9) in it", actual: "\"\(pattern)\""))
        var texts = [""]
        var digits: Int?
        var rest = pattern[...]
        while let character = rest.popFirst() {
            guard character == "%" else {
                texts[texts.count - 1].append(character)
                continue
            }
            if rest.first == "%" {
                rest.removeFirst()
                texts[texts.count - 1].append("%")
                continue
            }
            guard digits == nil else { throw wrong }
            if rest.first == "0" {
                rest.removeFirst()
                // `wholeNumberValue` also reads digits of other scripts.
                guard let digit = rest.popFirst(), digit.isASCII, let width = digit.wholeNumberValue, width > 0
                else { throw wrong }
                digits = width
            } else {
                digits = 0
            }
            guard rest.popFirst() == "d" else { throw wrong }
            texts.append("")
        }
        prefix = texts[0]
        suffix = texts.count > 1 ? texts[1] : ""
        self.digits = digits
    }

    /// Whether each number gives a different name.
    var isNumbered: Bool { digits != nil }

    /// Returns the file name for a number.
    func name(_ number: Int) -> String {
        guard let digits else { return prefix }
        let text = String(number)
        return prefix + String(repeating: "0", count: max(0, digits - text.count)) + text + suffix
    }
}

/// Checks the names of picture files, which are written as PNG.
enum PictureFile {
    private static let otherTypes = ["jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff"]

    /// Throws `invalidParameter` if the name has the extension of another picture format.
    static func check(_ name: String, option: String) throws(MediaGraphError) {
        guard let dot = name.lastIndex(of: ".") else { return }
        let type = name[name.index(after: dot)...].lowercased()
        guard otherTypes.contains(type) else { return }
        throw .invalidParameter(
            .init(
                option,
                actual: "pictures are written as PNG, but \"\(name)\" has another type's extension; "
                    + "name it \(name[..<dot]).png"))
    }
}
