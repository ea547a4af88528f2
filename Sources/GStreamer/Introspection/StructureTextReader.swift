import CGStreamer
import CGStreamerShims

/// The reason why a text can't be passed to GStreamer as caps or a structure.
package enum StructureTextError: Error, Sendable, Hashable {
    /// GStreamer would refuse the text.
    case malformed
    /// GStreamer would warn about the text and read it as another value than it seems to be. The associated string says
    /// how to write it.
    case misread(String)
}

/// Checks the text of caps and structures by the rules of `gst_caps_from_string` and `gst_structure_from_string`
/// (1.22).
///
/// It finds the mistakes that these functions only report through GLib: `width=[5,1]` fails an assertion and becomes
/// `[0,0]`; `width="320"` becomes a number, with a warning. A process that treats GLib's warnings as fatal would abort.
struct StructureTextReader {
    private let bytes: [UInt8]
    private var position = 0
    private let depth: Int

    /// A limit for nested values. GStreamer's own parser is recursive and has none.
    private static let maximumDepth = 16

    /// Checks the text of caps.
    static func checkCaps(_ text: some Collection<UInt8>, depth: Int = 0) throws(StructureTextError) {
        var reader = StructureTextReader(bytes: Array(text), depth: depth)
        try reader.readCaps()
    }

    /// Checks the text of a structure.
    static func checkStructure(_ text: some Collection<UInt8>, depth: Int = 0) throws(StructureTextError) {
        var reader = StructureTextReader(bytes: Array(text), depth: depth)
        try reader.readName()
        try reader.readFields()
        // GStreamer drops the text after a semicolon with a warning.
        guard reader.position == reader.bytes.count else { throw .malformed }
    }

    /// Checks the text of an array, for a property whose values have this shape.
    static func checkArray(_ text: some Collection<UInt8>, _ shape: ElementShape) throws(StructureTextError) {
        var reader = StructureTextReader(bytes: Array(text), depth: 0)
        guard reader.byte == UInt8(ascii: "<") else { throw .malformed }
        _ = try reader.readValue(nil, shape, depth: 0)
    }

    private init(bytes: [UInt8], depth: Int) {
        self.bytes = bytes
        self.depth = depth
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    // MARK: Structures

    private mutating func readCaps() throws(StructureTextError) {
        if ["ANY", "EMPTY", "NONE"].contains(where: { bytes.elementsEqual($0.utf8) }) { return }
        while true {
            skipSpace()
            guard byte != nil else { return }
            try readName()
            if byte == UInt8(ascii: "(") { try readFeatures() }
            try readFields()
        }
    }

    private mutating func readName() throws(StructureTextError) {
        skipSpace(escaped: true)
        let name = Self.unwrapped(try readString())
        // The rules of gst_structure_validate_name; gst_structure_new_empty asserts them.
        guard let first = name.first, Self.isLetter(first), name.allSatisfy(Self.isWord) else { throw .malformed }
        if name.starts(with: "video/x-raw-".utf8) || name.starts(with: "audio/x-raw-".utf8) {
            let type = String(decoding: name.prefix(11), as: UTF8.self)
            throw .misread("this is the syntax of GStreamer 0.10; write \(type),format=…")
        }
    }

    /// Reads caps features like `gst_caps_features_from_string`, which warns about every invalid name.
    private mutating func readFeatures() throws(StructureTextError) {
        let text = bytes[(position + 1)...].prefix { $0 != UInt8(ascii: ")") }
        position = min(text.endIndex + 1, bytes.count)
        if text.isEmpty || text.elementsEqual("ANY".utf8) { return }
        for feature in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let name = feature.drop { $0 == UInt8(ascii: " ") }
            let parts = name.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].allSatisfy(Self.isLetter), let first = parts[1].first,
                Self.isLetter(first),
                parts[1].allSatisfy({ Self.isLetter($0) || Self.isDigit($0) })
            else { throw .misread("caps features have a prefix, as in memory:DMABuf") }
        }
    }

    private mutating func readFields() throws(StructureTextError) {
        while true {
            skipSpace(escaped: true)
            guard let byte else { return }
            position += 1
            if byte == UInt8(ascii: ";") { return }
            guard byte == UInt8(ascii: ",") else { throw .malformed }
            skipSpace(escaped: true)
            guard self.byte != nil else { return }
            if self.byte == UInt8(ascii: ";") { continue }
            guard !readWord().isEmpty else { throw .malformed }
            skipSpace(escaped: true)
            try expect("=")
            _ = try readValue(nil, depth: depth)
        }
    }

    // MARK: Values

    /// Reads a value, and returns it if it is a scalar.
    private mutating func readValue(
        _ outer: ValueCast?, _ shape: ElementShape = .any, depth: Int
    ) throws(StructureTextError) -> ScalarText? {
        guard depth < Self.maximumDepth else { throw .malformed }
        skipSpace()
        var cast = outer
        if byte == UInt8(ascii: "(") {
            position += 1
            skipSpace()
            let name = readWord()
            skipSpace()
            try expect(")")
            cast = try ValueCast(String(decoding: name, as: UTF8.self))
            skipSpace()
        }
        switch byte {
        case UInt8(ascii: "["):
            if case .any = shape {} else { throw .malformed }
            try readBrackets(cast, depth: depth)
            return nil
        case UInt8(ascii: "{"):
            try readList(cast, shape, end: "}", depth: depth)
            return nil
        case UInt8(ascii: "<"):
            try readList(cast, shape, end: ">", depth: depth)
            return nil
        default: break
        }
        try shape.check(cast)
        let scalar = ScalarText(text: try readString(), cast: cast)
        switch cast {
        case .structure: try Self.checkStructure(Self.unwrapped(scalar.text), depth: depth + 1)
        case .caps: try Self.checkCaps(Self.unwrapped(scalar.text), depth: depth + 1)
        case nil: if case .any = shape { try scalar.refuseMisread() }
        case .other: break
        }
        return scalar
    }

    private mutating func readList(
        _ cast: ValueCast?, _ shape: ElementShape, end: Unicode.Scalar, depth: Int
    ) throws(StructureTextError) {
        let element = try shape.element()
        position += 1
        skipSpace()
        while byte != UInt8(ascii: end) {
            if byte == UInt8(ascii: ",") {
                position += 1
                skipSpace()
                if byte == UInt8(ascii: ",") { throw .malformed }
                continue
            }
            _ = try readValue(cast, element, depth: depth + 1)
            skipSpace()
            guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: end) else { throw .malformed }
        }
        position += 1
    }

    /// Reads a range, or a structure or caps in brackets.
    private mutating func readBrackets(_ cast: ValueCast?, depth: Int) throws(StructureTextError) {
        let start = position
        if cast != .structure, cast != .caps {
            do {
                return try readRange(cast, depth: depth)
            } catch .malformed where cast == nil {
                position = start
            }
        }
        var open = 0
        for end in bytes.indices[start...] {
            if bytes[end] == UInt8(ascii: "[") { open += 1 }
            if bytes[end] == UInt8(ascii: "]") { open -= 1 }
            guard open == 0 else { continue }
            let content = bytes[start + 1..<end]
            position = end + 1
            // Without a type, GStreamer parses the content as a structure first, and warns if it has a second
            // structure.
            return try cast == .caps
                ? Self.checkCaps(content, depth: depth + 1) : Self.checkStructure(content, depth: depth + 1)
        }
        throw .malformed
    }

    private mutating func readRange(_ cast: ValueCast?, depth: Int) throws(StructureTextError) {
        let start = position
        position += 1
        var bounds: [ScalarText] = []
        repeat {
            if !bounds.isEmpty { position += 1 }
            guard let bound = try readValue(cast, depth: depth + 1) else { throw .malformed }
            bounds.append(bound)
            skipSpace()
        } while byte == UInt8(ascii: ",") && bounds.count < 3
        try expect("]")
        guard bounds.count >= 2 else { throw .malformed }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        try ScalarText.checkRange(bounds, text)
    }

    // MARK: Words

    /// Reads a word, or a quoted string including its quotes.
    private mutating func readString() throws(StructureTextError) -> ArraySlice<UInt8> {
        guard byte == UInt8(ascii: "\"") else {
            let word = readWord()
            guard !word.isEmpty else { throw .malformed }
            return word
        }
        let start = position
        position += 1
        while let byte, byte != UInt8(ascii: "\"") { position += byte == UInt8(ascii: "\\") ? 2 : 1 }
        guard position < bytes.count else { throw .malformed }
        position += 1
        return bytes[start..<position]
    }

    /// Returns whether `GST_ASCII_IS_STRING` is true for the character.
    private static func isWord(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || "_-+/:.".utf8.contains(byte)
    }

    private mutating func readWord() -> ArraySlice<UInt8> {
        let word = bytes[position...].prefix(while: Self.isWord)
        position = word.endIndex
        return word
    }

    /// Removes quotes and backslashes, like `gst_string_unwrap`.
    static func unwrapped(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.first == UInt8(ascii: "\"") else { return Array(text) }
        var result: [UInt8] = []
        var rest = text.dropFirst().dropLast()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                result.append(escaped)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(StructureTextError) {
        guard byte == UInt8(ascii: character) else { throw .malformed }
        position += 1
    }

    private mutating func skipSpace(escaped: Bool = false) {
        while let byte {
            if Self.isSpace(byte) {
                position += 1
            } else if escaped, byte == UInt8(ascii: "\\"), position + 1 < bytes.count, Self.isSpace(bytes[position + 1])
            {
                position += 2
            } else {
                return
            }
        }
    }

    /// Returns whether `g_ascii_isspace` is true for the character.
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B }
    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
