import Foundation
import GStreamer

/// Text of a pipeline description, and where it came from.
///
/// A description is what `gst_parse_launch` takes, and comments (`#` at the beginning of a token, outside quotes, up to
/// the end of the line), line breaks anywhere, and variables:
///
/// - `${NAME}` and `${NAME:-default}` are replaced by the value given, or by the default when none or an empty one is.
///   Outside quotes that may be several tokens (`CAMERA="videotestsrc is-live=true"`); inside quotes it stays one value,
///   whatever it holds. A default ends with the next `}` (`\}` for the character itself) and may hold variables.
/// - `${HERE}` is the folder that the description's file is in, and for text the current one, unless it is given another
///   value: `filesrc location="${HERE}/clip.mkv"` works from any folder.
/// - `$${` is a literal `${`. A `$` without a brace means nothing.
///
/// A backslash at the end of a line is dropped, so that a line can be pasted from a shell script. Unlike in a shell,
/// quotes and backslashes are those of `gst_parse_launch`: double quotes around a property's value are taken off,
/// single quotes are part of it.
public struct Description: Sendable {
    /// What diagnostics call the text: its file, or "description".
    public let name: String
    public let text: String
    /// What `${HERE}` is; `nil` for the current folder.
    let folder: String?
    private let source: SourceText

    public init(_ text: String, name: String = "description") { self.init(text, name: name, folder: nil) }

    init(_ text: String, name: String, folder: String?) {
        self.name = name
        self.text = text
        self.folder = folder
        source = SourceText(text, name: name)
    }

    // MARK: Expansion

    /// The text for `gst_parse_launch_full`: comments stripped, variables replaced.
    public func expanded(with variables: [String: String] = [:]) throws(DescriptionError) -> ExpandedDescription {
        let expansion = VariableExpansion(source, variables: withFolder(variables))
        let locator = Locator(source: source, map: expansion.map)
        guard expansion.problems.isEmpty else {
            throw DescriptionError(diagnostics: Self.inOrder(expansion.problems, locator))
        }
        return ExpandedDescription(
            text: String(decoding: expansion.bytes, as: UTF8.self), map: expansion.map, source: source)
    }

    /// The variables with the one that needn't be given.
    private func withFolder(_ variables: [String: String]) -> [String: String] {
        let folder = folder ?? FileManager.default.currentDirectoryPath
        return ["HERE": folder].merging(variables) { $1.isEmpty ? $0 : $1 }
    }

    // MARK: Checking

    /// Every problem that can be found without running (the first hundred of them), in the order of the text; empty when
    /// the description is fine.
    ///
    /// It loads the plugins of the elements named. When nothing is found, or nothing that GStreamer's own parser couldn't
    /// know better, that parser is asked: then elements are made and their properties set, in the NULL state, and let go.
    ///
    /// - Parameters:
    ///   - variables: values for the description's variables; the environment isn't looked at.
    ///   - additionalChecks: checks beyond what GStreamer's classes say about themselves.
    ///   - parses: whether to ask GStreamer's parser at the end. Leave it out where the text is parsed next anyway, and
    ///     give its error to ``ExpandedDescription/diagnostic(forParseError:)``.
    ///   - isComplete: whether nobody links anything to it later. Then elements that the text leaves unlinked are told.
    public func diagnose(
        with variables: [String: String] = [:], additionalChecks: [any DescriptionCheck] = [], parses: Bool = true,
        isComplete: Bool = false
    ) -> [Diagnostic] {
        GStreamerRuntime.initialize()
        let expansion = VariableExpansion(source, variables: withFolder(variables))
        let locator = Locator(source: source, map: expansion.map)
        if let command = ShellCommand.problem(in: String(decoding: expansion.bytes, as: UTF8.self)) {
            return Self.inOrder([command], locator)
        }
        let typography = TypographyCheck.problems(in: String(decoding: expansion.bytes, as: UTF8.self)).filter {
            // A variable's value is as it is meant.
            if case .expanded(let range) = $0.place { locator.variable(at: range) == nil } else { true }
        }
        // What else would be found follows from these.
        guard typography.isEmpty else { return Self.inOrder(expansion.problems + typography, locator) }
        let quotes = StrayQuotes.problems(in: expansion.bytes)
        guard quotes.isEmpty else { return Self.inOrder(expansion.problems + quotes, locator) }
        var context = CheckContext(DescriptionParser.parse(expansion.bytes))
        var problems = expansion.problems
        if let quoted = QuotedValue.repaired(expansion.bytes, context) {
            context = CheckContext(DescriptionParser.parse(quoted.bytes))
            problems += quoted.problems
        }
        let parsed = context.parsed
        problems += DescriptionChecks.problems(in: context)
        let errors = problems.filter { $0.severity == .error }
        if parses, errors.allSatisfy({ !$0.isCertain }) {
            // What templates and names in the text can't tell, an actual parse can.
            let verdict = DescriptionProbe.parse(String(decoding: expansion.bytes, as: UTF8.self))
            if let verdict {
                if errors.isEmpty { problems.append(ParseErrorPlace.problem(verdict.message, parsed, expansion.bytes)) }
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
        let elements = Self.described(parsed, locator)
        let additional = additionalChecks.flatMap { $0.problems(among: elements) }
        return Self.inOrder(problems, locator, additional)
    }

    /// The elements whose factories exist, in the order of the text, each with what it sets.
    public func elements(with variables: [String: String] = [:]) -> [DescribedElement] {
        GStreamerRuntime.initialize()
        let expansion = VariableExpansion(source, variables: withFolder(variables))
        return Self.described(
            DescriptionParser.parse(expansion.bytes), Locator(source: source, map: expansion.map)
        ).filter { $0.uriDirection == nil }
    }

    private static func described(_ parsed: ParsedDescription, _ locator: Locator) -> [DescribedElement] {
        let outline = DescriptionOutline(parsed)
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

    /// More is no help to anyone: such a text is no description.
    private static let maximumDiagnostics = 100

    /// Diagnostics in the order of the text, each once: a default that is used twice would say everything twice.
    private static func inOrder(_ problems: [Problem], _ locator: Locator, _ more: [Diagnostic] = []) -> [Diagnostic] {
        // In two steps, because a diagnostic holds its line's text.
        let first = problems.map { (offset: locator.sourceRange(of: $0.place).lowerBound, problem: $0) }.enumerated()
            .sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }
            .prefix(maximumDiagnostics).map { locator.diagnostic($0.element.problem) }
        let sorted = (first + more).enumerated().sorted { a, b in
            let (x, y) = (a.element.range, b.element.range)
            return (x.line, x.column, a.offset) < (y.line, y.column, b.offset)
        }
        var seen: Set<Diagnostic> = []
        return sorted.map(\.element).filter { seen.insert($0).inserted }
    }
}
