extension Description {
    /// A variable that a description uses.
    public struct Variable: Sendable, Hashable {
        /// The name, without `${` and `}`.
        public let name: String
        /// The default where it is first used, as written; `nil` when it must be given.
        public let defaultValue: String?
        /// Where it is first used.
        public let range: SourceRange
    }

    /// The variables that the description uses, in the order of the text, those in defaults too.
    public var variables: [Variable] {
        let source = SourceText(text, name: name)
        var found: [Variable] = []
        func add(_ reference: VariableReference) {
            if !found.contains(where: { $0.name == reference.name }) {
                found.append(
                    Variable(
                        name: reference.name, defaultValue: reference.defaultRange.map(source.text),
                        range: source.range(reference.range)))
            }
            for case .variable(let nested) in reference.defaultParts ?? [] { add(nested) }
        }
        for case .variable(let reference, _) in SourceScanner(source).pieces { add(reference) }
        return found
    }

    /// Values that the description has no use for, each with the variable that may have been meant.
    public func unused(_ variables: [String: String]) -> [(name: String, nearest: String?)] {
        let known = self.variables.map(\.name)
        return variables.keys.filter { !known.contains($0) }.sorted().map { ($0, NearestName.find($0, among: known)) }
    }

    /// The lines of the comment that the text begins with, without their `#`.
    public var comment: [String] {
        var lines: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let content = line.drop { $0.isWhitespace }
            guard content.first == "#" else {
                if content.isEmpty, lines.isEmpty { continue }
                break
            }
            // A script's first line names its interpreter.
            if content.hasPrefix("#!"), lines.isEmpty { continue }
            lines.append(content.dropFirst().split(whereSeparator: \.isWhitespace).joined(separator: " "))
        }
        return lines
    }

    /// What the description says about itself: the first line of the comment at its beginning.
    public var title: String? { comment.first { !$0.isEmpty } }
}
