import Foundation

/// Prints values as lines of JSON. Each line is a single write.
enum JSONLine {
    static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        guard let data = try? encoder.encode(value) else { preconditionFailure("strings and numbers always encode") }
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    /// Prints a value. Returns `false` if the reader has gone away.
    @discardableResult
    static func print(_ value: some Encodable, to stream: FileHandle = .standardOutput) -> Bool {
        StandardStreams.write(text(value), to: stream)
    }
}
