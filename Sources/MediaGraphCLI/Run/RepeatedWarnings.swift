/// Counts warnings that elements repeat, for example for every late packet.
struct RepeatedWarnings {
    private struct Entry {
        let element: String
        let text: String
        var repetitions = 0
    }

    /// Sorted by first occurrence.
    private var entries: [Entry] = []
    /// Indices in `entries`, by element and text without numbers.
    private var indices: [String: Int] = [:]

    /// Counts a warning. Returns `false` if it differs only in its numbers from an earlier warning of the element.
    mutating func record(_ text: String, of element: String) -> Bool {
        let key = "\(element) \(Self.withoutNumbers(text))"
        if let index = indices[key] {
            entries[index].repetitions += 1
            return false
        }
        indices[key] = entries.count
        entries.append(Entry(element: element, text: text))
        return true
    }

    /// Removes the words that are numbers. Numbers inside a name, such as `cam2`, stay: they say what the warning is
    /// about.
    private static func withoutNumbers(_ text: String) -> String {
        text.split(separator: " ").filter { word in !word.allSatisfy { $0.isNumber || ".,:;()%".contains($0) } }
            .joined(separator: " ")
    }

    /// One line for each warning that was repeated.
    var summaries: [String] {
        entries.filter { $0.repetitions > 0 }.map { entry in
            let count = entry.repetitions == 1 ? "once" : "\(entry.repetitions) times"
            return "\(entry.element) repeated this warning \(count): \(entry.text)"
        }
    }
}
