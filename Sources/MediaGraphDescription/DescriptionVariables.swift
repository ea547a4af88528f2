extension Description {
    /// A variable that a description uses.
    public struct Variable: Sendable, Hashable {
        /// The name, without `${` and `}`.
        public let name: String
        /// The default at the variable's first use, as written; `nil` if the variable has none and needs a value.
        public let defaultValue: String?
        /// The place of the variable's first use.
        public let range: SourceRange
    }

    /// The variables that the description uses, including those in defaults, in the order of the text.
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

    /// Returns the names in `variables` that the description doesn't use, sorted, each with the most similar name that
    /// it does use.
    public func unused(_ variables: [String: String]) -> [(name: String, nearest: String?)] {
        let known = self.variables.map(\.name)
        return variables.keys.filter { !known.contains($0) }.sorted().map { ($0, NearestName.find($0, among: known)) }
    }

    /// The lines of the comment at the beginning of the text, without their `#`.
    public var comment: [String] {
        var lines: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let content = line.drop { $0.isWhitespace }
            guard content.first == "#" else {
                if content.isEmpty, lines.isEmpty { continue }
                break
            }
            // Skip a script's first line, which names its interpreter.
            if content.hasPrefix("#!"), lines.isEmpty { continue }
            lines.append(content.dropFirst().split(whereSeparator: \.isWhitespace).joined(separator: " "))
        }
        return lines
    }

    /// The description's title: the first line that isn't empty of the comment at its beginning.
    public var title: String? { comment.first { !$0.isEmpty } }
}
