import GStreamer

/// The second word of a value with a space and without quotes, `location=my file.mp4`, is taken for an element.
enum QuotedValue {
    /// What to write, where the word at this place stands right behind a property's value; `nil` elsewhere.
    static func hint(before word: Range<Int>, _ context: CheckContext) -> String? {
        let properties = context.parsed.elements.flatMap(\.properties)
        guard
            let property = properties.first(where: { $0.valueRange.upperBound + 1 == word.lowerBound }),
            !property.isUnknown, property.name != "name",
            // With quotes it is longer than its text.
            property.valueRange.count == property.value.utf8.count, !property.value.isEmpty
        else { return nil }
        return "a value with a space needs quotes: \(property.name)=\"\(property.value) …\""
    }
}
