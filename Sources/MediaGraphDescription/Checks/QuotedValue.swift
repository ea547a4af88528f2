import GStreamer

/// Finds values with spaces but without quotes, such as `location=my file.mp4`: GStreamer takes the second word for an
/// element.
enum QuotedValue {
    /// Returns a text of the same length in which each such value is one word, whose content counts as unknown, and the
    /// problems of these values; `nil` if there are none.
    static func repaired(_ bytes: [UInt8], _ context: CheckContext) -> (bytes: [UInt8], problems: [Problem])? {
        var repaired = bytes
        var problems: [Problem] = []
        for (index, factory) in context.factories.sorted(by: { $0.key < $1.key }) {
            for property in context.parsed.elements[index].properties {
                let start = property.valueRange.lowerBound
                guard !property.isOfChild, !property.isUnknown, property.name != "name", !property.valueRange.isEmpty,
                    !"\"'!".utf8.contains(bytes[start]), factory.property(property.name)?.kind == .string,
                    let end = end(of: property.valueRange, bytes, context)
                else { continue }
                let value = bytes[start..<end].text
                problems.append(
                    Problem(
                        place: .expanded(start..<end),
                        message: "the value of \(property.name) contains spaces but isn't quoted",
                        hint: "write \(property.name)=\"\(value.replacing("\"", with: "\\\""))\""))
                for offset in property.valueRange.upperBound..<end where bytes[offset].isSpace {
                    repaired[offset] = .unknownText
                }
                // Separate the value from a "!" directly after it by a space. The space may replace the value's last
                // byte, since the value counts as unknown.
                if end < bytes.count, bytes[end] == UInt8(ascii: "!") { repaired[end - 1] = UInt8(ascii: " ") }
            }
        }
        return problems.isEmpty ? nil : (repaired, problems)
    }

    /// Returns the end of the last word that belongs to the value; `nil` if the next word doesn't belong to it.
    private static func end(of value: Range<Int>, _ bytes: [UInt8], _ context: CheckContext) -> Int? {
        var words: [Range<Int>] = []
        var offset = value.upperBound
        while offset < bytes.count {
            let start =
                bytes[offset...].firstIndex { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } ?? bytes.count
            guard start > offset, start < bytes.count, !bytes[start].isSpace else { break }
            let word = bytes[start...].prefix { !$0.isSpace && $0 != UInt8(ascii: "!") }
            guard !word.isEmpty, mayBelong(word, bytes, context) else { break }
            words.append(start..<word.endIndex)
            offset = word.endIndex
        }
        guard let last = words.last else { return nil }
        // A single word like this is more likely a mistyped element with a missing "!" before it.
        if words.count == 1, isNearlyElement(bytes[last].text) { return nil }
        return last.upperBound
    }

    /// Returns whether the word can only continue the value, since it begins no property, element or link.
    private static func mayBelong(_ word: ArraySlice<UInt8>, _ bytes: [UInt8], _ context: CheckContext) -> Bool {
        guard let first = word.first, !"\"'().:@#".utf8.contains(first), !word.isUnknown, !word.contains(0),
            !word.contains(where: { "\"()".utf8.contains($0) }), !word.text.contains("://")
        else { return false }
        let name = word.prefix(while: \.continuesIdentifier)
        let rest = bytes[name.endIndex...].drop(while: \.isSpace)
        // The word begins a property.
        if !name.isEmpty, rest.first == UInt8(ascii: "=") { return false }
        let text = name.text
        if name.endIndex == word.endIndex { return ElementFactoryInfo.find(text) == nil }
        guard word[name.endIndex] == UInt8(ascii: ".") else { return true }
        // The word is a reference to an element that doesn't exist, which NameCheck reports.
        if name.endIndex + 1 == word.endIndex, rest.dropFirst().first(where: { !$0.isSpace }) == UInt8(ascii: "!") {
            return false
        }
        let isElement =
            context.named[text] != nil
            || context.factories.values.contains { NameCheck.isAutomatic(text, $0.defaultNamePrefix) }
        return !isElement
    }

    private static func isNearlyElement(_ word: String) -> Bool {
        guard word.utf8.allSatisfy(\.continuesIdentifier) else { return false }
        return NearestName.find(word, among: ElementFactoryInfo.allNames) != nil
            || DebianPackages.shared.package(ofElement: word) != nil
            || KnownNodes.node(ofHandler: word) != nil
    }
}
