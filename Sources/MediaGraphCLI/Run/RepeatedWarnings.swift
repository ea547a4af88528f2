/// Counts the warnings that an element repeats, as one may for every packet that is late.
struct RepeatedWarnings {
    private struct Entry {
        let element: String
        let text: String
        var repetitions = 0
    }

    /// In the order of their first time.
    private var entries: [Entry] = []
    private var places: [String: Int] = [:]

    /// Counts a warning. Returns false if it differs from an earlier one only in its numbers.
    mutating func record(_ text: String, of element: String) -> Bool {
        let key = "\(element) \(Self.withoutNumbers(text))"
        if let place = places[key] {
            entries[place].repetitions += 1
            return false
        }
        places[key] = entries.count
        entries.append(Entry(element: element, text: text))
        return true
    }

    /// Numbers that are whole words: those in a name, such as `cam2`, tell what the warning is about.
    private static func withoutNumbers(_ text: String) -> String {
        text.split(separator: " ").filter { word in !word.allSatisfy { $0.isNumber || ".,:;()%".contains($0) } }
            .joined(separator: " ")
    }

    /// A line for each that came again.
    var summaries: [String] {
        entries.filter { $0.repetitions > 0 }.map { entry in
            let count = entry.repetitions == 1 ? "once" : "\(entry.repetitions) times"
            return "\(entry.element) repeated this warning \(count): \(entry.text)"
        }
    }
}
