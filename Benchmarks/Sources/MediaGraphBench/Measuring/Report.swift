/// What one comparison came to: text for the reader, and the bars that are broken.
struct Report: Sendable {
    var title: String
    var text: String
    var broken: [String] = []
    var hasBars = true

    var markdown: String {
        let verdict = broken.isEmpty ? "All bars hold.\n" : "Broken:\n\n" + broken.map { "- \($0)\n" }.joined()
        return "### \(title)\n\n\(text)\n" + (hasBars ? "\n\(verdict)" : "")
    }
}
