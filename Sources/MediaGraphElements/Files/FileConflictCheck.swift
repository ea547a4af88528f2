import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// Reports a file that is written while the description also reads it or writes it elsewhere. The writer would empty
/// the file before it is read, or the two outputs would be mixed.
struct FileConflictCheck: DescriptionCheck {
    /// Files that the program itself uses in addition to the description's.
    var others: [FileUse] = []

    func problems(in element: DescribedElement) -> [Diagnostic] { [] }

    func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        let files = (elements.flatMap(FileUse.all) + others).compactMap { use in
            FileName(use.path, style: use.style).map { (use: use, name: $0) }
        }
        let conflicts = files.indices.compactMap { index -> Diagnostic? in
            let (use, name) = files[index]
            let other = files.indices.first { other in
                other != index && use.excludes(files[other].use) && name.overlaps(files[other].name)
            }
            return other.flatMap { Self.diagnostic(use, files[$0].use) }
        }
        return conflicts + ownText(elements, files.filter { $0.use.access == .writes })
    }

    private static func diagnostic(_ use: FileUse, _ other: FileUse) -> Diagnostic? {
        let verbs: (FileUse.Access) -> String = { $0 == .reads ? "reads" : "writes" }
        let otherUser = other.user == use.user ? "another \(other.user)" : other.user
        let alias = use.name == other.name ? "" : " as \(other.name)"
        let hint: String? =
            switch (use.access, other.access) {
            case (.writes, .reads): "write to another file: this one would be emptied before it is read"
            case (.writes, .writes):
                "give each a file of its own" + (use.missingProperty.map { ": \($0)=…" } ?? "")
            case (.reads, _): nil
            }
        return use.diagnostic(
            "\(use.user) \(verbs(use.access)) \(use.name), which \(otherUser) \(verbs(other.access))\(alias)"
                + (use.access == other.access ? " too" : ""),
            hint: hint, severity: .error)
    }

    /// Reports writing to the file that the description was read from.
    private func ownText(_ elements: [DescribedElement], _ written: [(use: FileUse, name: FileName)]) -> [Diagnostic] {
        guard let path = elements.first?.range.file, path != "description", let text = FileName(path) else { return [] }
        return written.filter { $0.name.overlaps(text) }.compactMap { use, _ in
            use.diagnostic(
                "\(use.user) writes \(use.name), which is this description's own file",
                hint: "write to another file", severity: .error)
        }
    }
}
