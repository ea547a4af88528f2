import GStreamer

/// A description with values for its variables, expanded and parsed once: what checks, a graph and tools that show it
/// are made from.
public struct ResolvedDescription: Sendable {
    /// What it was resolved from.
    public let description: Description
    private let bytes: [UInt8]
    /// What is wrong with comments, quotes and variables.
    private let expansionProblems: [Problem]
    private let parsed: ParsedDescription
    private let locator: Locator

    init(_ description: Description, _ expansion: VariableExpansion, _ source: SourceText) {
        self.description = description
        bytes = expansion.bytes
        expansionProblems = expansion.problems
        parsed = DescriptionParser.parse(expansion.bytes)
        locator = Locator(source: source, map: expansion.map)
    }

    // MARK: Contents

    /// The text for `gst_parse_launch_full`: comments stripped, variables replaced. Throws when a variable has no value,
    /// or can't be read.
    public var text: String {
        get throws(DescriptionError) {
            guard expansionProblems.isEmpty else {
                throw DescriptionError(diagnostics: inOrder(expansionProblems))
            }
            return shownText
        }
    }

    /// The text with U+FFFD for each variable without a value.
    private var shownText: String { String(decoding: bytes, as: UTF8.self) }

    /// Its elements and links. What can't be read is left out: ``diagnose(additionalChecks:parses:isComplete:)`` reports it.
    public var outline: DescriptionOutline { DescriptionOutline(parsed) }

    /// The elements whose factories exist, in the order of the text, each with what it sets.
    public var elements: [DescribedElement] { described.filter { $0.uriDirection == nil } }

    /// The names of the factories of its elements, and of those in the values of properties
    /// (`video-sink="videoconvert ! ximagesink"`), whether they exist or not.
    package var factories: Set<String> {
        var factories = Set(parsed.elements.filter { !$0.isURI }.map(\.factory))
        for element in elements {
            factories.formUnion(element.nested.map(\.factory))
            // Which type a child's property has can't be known before the child exists.
            for property in element.properties where property.name.contains("::") {
                let value = DescriptionParser.parse(Array((property.value ?? "").utf8))
                factories.formUnion(value.elements.map(\.factory))
            }
        }
        return factories
    }

    /// The elements and URIs whose factories exist, in the order of the text.
    private var described: [DescribedElement] {
        GStreamerRuntime.initialize()
        let outline = outline
        let fed = Set(outline.links.map(\.sink))
        let sourcePads = Dictionary(grouping: outline.links, by: \.source).mapValues { links in
            Set(links.flatMap { $0.sourcePads.isEmpty ? [""] : $0.sourcePads })
        }
        return parsed.elements.enumerated().filter { _, element in
            !element.isUnknown && (element.isURI || ElementFactoryInfo.find(element.factory) != nil)
        }.map { index, element in
            DescribedElement(
                factory: element.factory, name: element.name.flatMap { $0.isUnknown ? nil : $0.value },
                properties: element.properties.map {
                    DescribedProperty(
                        name: $0.name, value: $0.isUnknown ? nil : $0.text(in: element.factory), locator: locator,
                        offsets: $0.valueRange)
                },
                isFed: fed.contains(index), sourcePads: sourcePads[index] ?? [], uriDirection: element.uriDirection,
                isNested: false, locator: locator, offsets: element.range)
        }
    }

    // MARK: Checking

    /// Every problem that can be found without running (the first hundred of them), in the order of the text; empty when
    /// the description is fine. ``Graph/diagnose(_:isMadeNext:isComplete:)`` adds what the nodes know of themselves; call
    /// `Nodes.register()` before, or the nodes are unknown elements.
    ///
    /// It loads the plugins of the elements named. When nothing is found, or nothing that GStreamer's own parser couldn't
    /// know better, that parser is asked: then elements are made and their properties set, in the NULL state, and let go.
    ///
    /// - Parameters:
    ///   - additionalChecks: checks beyond what GStreamer's classes say about themselves.
    ///   - parses: whether to ask GStreamer's parser at the end. Leave it out where the text is parsed next anyway, and
    ///     give its error to ``diagnostic(forParseError:)``.
    ///   - isComplete: whether nobody links anything to it later. Then elements that the text leaves unlinked are told.
    public func diagnose(
        additionalChecks: [any DescriptionCheck] = [], parses: Bool = true, isComplete: Bool = false
    ) -> [Diagnostic] {
        GStreamerRuntime.initialize()
        let text = shownText
        if let command = ShellCommand.problem(in: text) { return inOrder([command]) }
        let typography = TypographyCheck.problems(in: text).filter {
            // A variable's value is as it is meant.
            if case .expanded(let range) = $0.place { locator.variable(at: range) == nil } else { true }
        }
        // What else would be found follows from these.
        guard typography.isEmpty else { return inOrder(expansionProblems + typography) }
        let quotes = StrayQuotes.problems(in: bytes)
        guard quotes.isEmpty else { return inOrder(expansionProblems + quotes) }
        var context = CheckContext(parsed)
        var problems = expansionProblems
        var checked = self
        if let quoted = QuotedValue.repaired(bytes, context) {
            checked = ResolvedDescription(self, repaired: quoted.bytes)
            context = CheckContext(checked.parsed)
            problems += quoted.problems
        }
        problems += DescriptionChecks.problems(in: context)
        let errors = problems.filter { $0.severity == .error }
        if parses, errors.allSatisfy({ !$0.isCertain }) {
            // What templates and names in the text can't tell, an actual parse can.
            let verdict = DescriptionProbe.parse(text)
            if let verdict {
                if errors.isEmpty { problems.append(ParseErrorPlace.problem(verdict.message, context.parsed, bytes)) }
            } else {
                problems.removeAll { $0.severity == .error }
            }
        }
        // For GStreamer these are no errors.
        if isComplete {
            problems +=
                UnlinkedCheck.problems(in: context) + TeeCheck.problems(in: context)
                + PrerollCheck.problems(in: context) + EncoderFormatCheck.problems(in: context)
                + UnsetFileCheck.problems(in: context) + FileKindCheck.problems(in: context)
        }
        let elements = additionalChecks.isEmpty ? [] : checked.described
        return inOrder(problems, additionalChecks.flatMap { $0.problems(among: elements) })
    }

    /// The best place for an error that `gst_parse_launch_full` gave for ``text``.
    public func diagnostic(forParseError message: String) -> Diagnostic {
        locator.diagnostic(ParseErrorPlace.problem(message, parsed, bytes))
    }

    /// A description with repaired text, each byte of which has the place of the byte that it replaces.
    private init(_ original: ResolvedDescription, repaired bytes: [UInt8]) {
        description = original.description
        self.bytes = bytes
        expansionProblems = original.expansionProblems
        parsed = DescriptionParser.parse(bytes)
        locator = original.locator
    }

    /// More is no help to anyone: such a text is no description.
    private static let maximumDiagnostics = 100

    /// Diagnostics in the order of the text, each once: a default that is used twice would say everything twice.
    private func inOrder(_ problems: [Problem], _ more: [Diagnostic] = []) -> [Diagnostic] {
        // In two steps, because a diagnostic holds its line's text.
        let first = problems.map { (offset: locator.sourceRange(of: $0.place).lowerBound, problem: $0) }.enumerated()
            .sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }
            .prefix(Self.maximumDiagnostics).map { locator.diagnostic($0.element.problem) }
        let sorted = (first + more).enumerated().sorted { a, b in
            let (x, y) = (a.element.range, b.element.range)
            return (x.line, x.column, a.offset) < (y.line, y.column, b.offset)
        }
        var seen: Set<Diagnostic> = []
        return sorted.map(\.element).filter { seen.insert($0).inserted }
    }
}
