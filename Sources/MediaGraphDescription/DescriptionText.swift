/// Writes what `PropertyText` reads.
package enum DescriptionText {
    /// A value as it stands in a description: in quotes where it isn't a plain word.
    package static func quoted(_ value: String) -> String {
        let isPlain = !value.isEmpty && value.unicodeScalars.allSatisfy { plain.contains($0) }
        return isPlain ? value : inQuotes(value)
    }

    package static func inQuotes(_ value: String) -> String {
        "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    private static let plain = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,@+".unicodeScalars)
}
