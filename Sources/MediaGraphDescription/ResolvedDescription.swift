import GStreamer

/// A description whose variables have been replaced by values. It is expanded and parsed once; the checks, graphs and
/// tools that display a description all use this one result.
public struct ResolvedDescription: Sendable {
    /// The description with its variables.
    public let description: Description
    /// The expanded text.
    private let bytes: [UInt8]
    /// The problems of variables, and of NUL characters in the text.
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

    /// The text for `gst_parse_launch_full`, without comments and with variables replaced.
    ///
    /// Throws a ``DescriptionError`` if a variable has no value or is malformed.
    public var text: String {
        get throws(DescriptionError) {
            guard expansionProblems.isEmpty else {
                throw DescriptionError(diagnostics: inOrder(expansionProblems))
            }
            return shownText
        }
    }

    /// The expanded text with U+FFFD in place of each variable without a value.
    private var shownText: String { String(decoding: bytes, as: UTF8.self) }

    /// The text with one character for each byte that stands for a value, so that its UTF-8 offsets are those of
    /// `bytes`.
    private var alignedText: String {
        String(decoding: bytes.map { $0 == .unknownText ? UInt8(ascii: "?") : $0 }, as: UTF8.self)
    }

    /// The description's elements and links. Leaves out text that can't be parsed, which
    /// ``diagnose(additionalChecks:parses:isComplete:)`` reports.
    public var outline: DescriptionOutline { DescriptionOutline(parsed) }

    /// The elements whose factories exist, with the properties that the text sets, in the order of the text.
    public var elements: [DescribedElement] { described.filter { $0.uriDirection == nil } }

    /// The factory names of all elements, including those in the values of properties
    /// (`video-sink="videoconvert ! ximagesink"`), whether the factories exist or not.
    package var factories: Set<String> {
        var factories = Set(parsed.elements.filter { !$0.isURI }.map(\.factory))
        for element in elements {
            factories.formUnion(element.nested.map(\.factory))
            // The type of a child's property is unknown until the child exists, so any value may be a description.
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
        let sinks = Set(outline.links.map(\.sink))
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
                hasInput: sinks.contains(index), sourcePads: sourcePads[index] ?? [],
                uriDirection: element.uriDirection,
                isNested: false, locator: locator, offsets: element.range)
        }
    }

    // MARK: Checking

    /// Returns the problems that can be found without running the description, at most one hundred, in the order of the
    /// text; empty if there are none.
    ///
    /// ``Graph/diagnose(_:isMadeNext:isComplete:)`` adds the checks of MediaGraph's nodes. Call `Nodes.register()`
    /// first; otherwise the nodes are reported as unknown elements.
    ///
    /// Loads the plugins of the named elements. If the checks find no errors, or only errors that GStreamer's own
    /// parser may refute, the text is also parsed by GStreamer: this creates the elements in the NULL state, sets their
    /// properties, and releases them.
    ///
    /// - Parameters:
    ///   - additionalChecks: checks beyond those that use GStreamer's registry and classes.
    ///   - parses: whether GStreamer's parser checks the text too. Pass `false` if you parse the text next anyway, and
    ///     pass the parser's error to ``diagnostic(forParseError:)``.
    ///   - isComplete: whether the description is the whole graph, to which no program adds elements or links. Then
    ///     unlinked elements and similar problems, which GStreamer's parser accepts, are reported too.
    public func diagnose(
        additionalChecks: [any DescriptionCheck] = [], parses: Bool = true, isComplete: Bool = false
    ) -> [Diagnostic] {
        let parse: (String) -> GLibError? = { DescriptionProbe.parse($0) }
        return diagnose(
            additionalChecks: additionalChecks, isComplete: isComplete, parse: parses ? parse : nil)
    }

    /// - Parameter parse: has GStreamer's parser check the text, and returns the parser's error; `nil` to leave that
    ///   out.
    package func diagnose(
        additionalChecks: [any DescriptionCheck], isComplete: Bool, parse: ((String) -> GLibError?)?
    ) -> [Diagnostic] {
        GStreamerRuntime.initialize()
        let text = shownText
        let aligned = alignedText
        if let command = ShellCommand.problem(in: aligned) { return inOrder([command]) }
        let typography = TypographyCheck.problems(in: aligned).filter {
            // The value of a variable is taken as intended.
            if case .expanded(let range) = $0.place { locator.variable(at: range) == nil } else { true }
        }
        // Stop here: other findings would be consequences of these characters.
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
        if let parse, errors.allSatisfy({ !$0.isCertain }) {
            // GStreamer's parser makes the elements, and so knows pads that the pad templates and the text don't show.
            if let verdict = parse(text) {
                if errors.isEmpty { problems.append(ParseErrorLocator.problem(verdict.message, context.parsed, bytes)) }
            } else {
                problems.removeAll { $0.severity == .error }
            }
        }
        // GStreamer's parser accepts these, so they come after the errors that its verdict may remove.
        if isComplete {
            problems +=
                UnlinkedCheck.problems(in: context) + TeeCheck.problems(in: context)
                + PrerollCheck.problems(in: context) + EncoderFormatCheck.problems(in: context)
                + UnsetFileCheck.problems(in: context) + FileKindCheck.problems(in: context)
        }
        let elements = additionalChecks.isEmpty ? [] : checked.described
        return inOrder(problems, additionalChecks.flatMap { $0.problems(among: elements) })
    }

    /// Returns a diagnostic for an error that `gst_parse_launch_full` reported for ``text``, at the most likely place.
    public func diagnostic(forParseError message: String) -> Diagnostic {
        locator.diagnostic(ParseErrorLocator.problem(message, parsed, bytes))
    }

    /// Creates a description from repaired text of the same length. Each byte keeps the place of the byte that it
    /// replaces.
    private init(_ original: ResolvedDescription, repaired bytes: [UInt8]) {
        description = original.description
        self.bytes = bytes
        expansionProblems = original.expansionProblems
        parsed = DescriptionParser.parse(bytes)
        locator = original.locator
    }

    /// The limit for diagnostics. A text with more problems isn't a description, and more messages wouldn't help.
    private static let maximumDiagnostics = 100

    /// Returns diagnostics in the order of the text, without duplicates: a problem in a default would be reported at
    /// each use of the variable.
    private func inOrder(_ problems: [Problem], _ more: [Diagnostic] = []) -> [Diagnostic] {
        // Sort and cut the problems first: a diagnostic contains a copy of its line's text.
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
