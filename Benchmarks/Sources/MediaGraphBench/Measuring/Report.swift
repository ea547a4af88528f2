/// What one comparison came to: text for the reader, and the bars that are broken.
struct Report: Sendable {
    var title: String
    var text: String
    var broken: [String] = []

    var markdown: String {
        "### \(title)\n\n\(text)\n\n"
            + (broken.isEmpty ? "All bars hold." : "Broken:\n\n" + broken.map { "- \($0)" }.joined(separator: "\n"))
            + "\n"
    }
}
