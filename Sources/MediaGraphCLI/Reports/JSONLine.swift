import Foundation

/// One value as one line of JSON on standard output, in one write.
enum JSONLine {
    static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        guard let data = try? encoder.encode(value) else { preconditionFailure("strings and numbers always encode") }
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    /// False when nobody reads any more.
    @discardableResult
    static func print(_ value: some Encodable, to stream: FileHandle = .standardOutput) -> Bool {
        StandardStreams.write(text(value), to: stream)
    }
}
