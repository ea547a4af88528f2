/// Parses tokens by the grammar of GStreamer's parser (gst/parse/grammar.y). Continues after an error, so that one pass
/// finds all errors.
struct DescriptionParser {
    /// The first and last element of a chain or a list of chains. A link to or from a bin connects to these.
    struct Ends {
        var first: ParsedLink.End?
        var last: ParsedLink.End?
    }

    /// The limit for nested bins, because parsing each of them takes stack space. No real description reaches it.
    static let maximumDepth = 200

    let bytes: [UInt8]
    let tokens: [Token]
    /// The offsets at which values with an unclosed quote begin.
    let unclosed: Set<Int>
    /// The index of the current token.
    var position = 0
    /// The index of the token after the last skipped one. No missing element is reported before that token.
    var afterSkipped = -1
    var result = ParsedDescription()
    /// The indices of the bins that enclose the current token, outermost first.
    var enclosing: [Int] = []
    /// Whether parsing stopped because bins are nested too deeply.
    var isTooDeep = false

    static func parse(_ bytes: [UInt8]) -> ParsedDescription {
        let quotes = QuoteCheck.run(bytes)
        var parser = DescriptionParser(bytes: bytes, tokens: quotes.tokens, unclosed: quotes.unclosed)
        parser.result.problems = quotes.problems
        _ = parser.parseChains(inBin: false)
        if parser.tokens.isEmpty, quotes.problems.isEmpty {
            parser.report(0..<bytes.count, "the description is empty", "it needs at least one element")
        }
        return parser.result
    }

    private init(bytes: [UInt8], tokens: [Token], unclosed: Set<Int>) {
        self.bytes = bytes
        self.tokens = tokens
        self.unclosed = unclosed
    }

    var token: Token? { position < tokens.count ? tokens[position] : nil }

    mutating func report(_ range: Range<Int>, _ message: String, _ hint: String? = nil) {
        result.problems.append(Problem(place: .expanded(range), message: message, hint: hint))
    }

    func parsed(_ range: Range<Int>) -> ParsedText { ParsedText(text: bytes[range].text, range: range) }

    // MARK: Chains

    /// Parses `chainlist`: chains up to the end of the text, or to the parenthesis that ends a bin.
    mutating func parseChains(inBin: Bool) -> Ends? {
        var ends: Ends?
        while let token {
            if token.isCharacter(")") {
                if inBin { return ends }
                report(
                    token.range, "this parenthesis closes no bin",
                    "remove it, or write \"(\" before the bin's first element")
                position += 1
                continue
            }
            guard let chain = parseChain() else { continue }
            ends = Ends(first: ends == nil ? chain.first : ends?.first, last: chain.last)
        }
        return ends
    }

    /// Parses `chain`: elements with links between them. Returns `nil` if the current token doesn't begin a chain.
    private mutating func parseChain() -> Ends? {
        guard let start = token else { return nil }
        var last: ParsedLink.End
        var ends = Ends()
        switch start.kind {
        case .link:
            reportNothing(before: start)
            last = .broken
            ends.first = .broken
        case .reference(let element, let pad):
            let problems = result.problems.count
            last = parseReference(start, element, pad)
            if token?.isLink != true, result.problems.count == problems { reportUnlinked(start, element) }
        case .uri:
            position += 1
            last = .init(target: .element(add(uri: start, .source)))
        default:
            guard let elementary = parseElementary() else {
                skipUnexpected()
                return nil
            }
            ends.first = elementary.first
            last = elementary.last ?? (token?.isLink == true ? missingEnd(start, "source") : .broken)
            last.pads += parsePads()
        }
        while let link = token, case .link(let all, let caps) = link.kind {
            position += 1
            let isTorn = caps.map { skipTornFilter($0) } ?? false
            let (sink, next) = isTorn ? (.broken, .broken) : parseLinkTarget(after: link)
            result.links.append(
                ParsedLink(
                    range: link.range, source: last, sink: sink, filter: isTorn ? nil : caps.map(parsed),
                    linksAllPads: all))
            guard let next else {
                if isBroken(sink) { ends.last = .broken }
                return ends
            }
            last = next
        }
        if let pad = last.pads.last, !isBroken(last), !isReference(last) {
            report(pad.range, "pad \"\(pad.text)\" isn't linked", "write a link after the pad's name: .\(pad.text) ! …")
        }
        if !isReference(last) { ends.last = last }
        return ends
    }

    private func isReference(_ end: ParsedLink.End) -> Bool { if case .reference = end.target { true } else { false } }
    private func isBroken(_ end: ParsedLink.End) -> Bool { if case .broken = end.target { true } else { false } }

    /// Parses the target of a link. `next` is the source of the chain's next link; `nil` if the chain ends here.
    private mutating func parseLinkTarget(after link: Token) -> (sink: ParsedLink.End, next: ParsedLink.End?) {
        let pads = parsePads()
        guard let token else {
            reportNothing(after: link)
            return (.broken, nil)
        }
        switch token.kind {
        case .reference(let element, let pad) where pads.isEmpty: return (parseReference(token, element, pad), nil)
        case .uri where pads.isEmpty:
            position += 1
            return (.init(target: .element(add(uri: token, .sink))), nil)
        case .link:
            report(
                link.range.upperBound - 1..<token.range.lowerBound + 1, "there is no element between these two links",
                "write one between \"!\" and \"!\"")
            return (.broken, .broken)
        case .character(UInt8(ascii: ")")):
            reportNothing(after: link)
            return (.broken, nil)
        default:
            guard let elementary = parseElementary() else {
                skipUnexpected()
                return (.broken, .broken)
            }
            var sink = elementary.first ?? missingEnd(token, "sink")
            sink.pads = pads + sink.pads
            var next = elementary.last ?? (self.token?.isLink == true ? missingEnd(token, "source") : .broken)
            next.pads += parsePads()
            return (sink, next)
        }
    }

    /// Reports a link to or from a bin that begins or ends with a reference or a URI and so has no element to link.
    private mutating func missingEnd(_ bin: Token, _ side: String) -> ParsedLink.End {
        report(
            bin.range, "this bin has no \(side) pad to link",
            side == "sink"
                ? "its first item is a reference or a URI; begin the bin with an element"
                : "its last item is a reference or a URI; end the bin with an element")
        return .broken
    }

    /// Parses `reference`: `element.pad,pad`.
    private mutating func parseReference(_ token: Token, _ element: Range<Int>, _ pad: Range<Int>?) -> ParsedLink.End {
        position += 1
        let problems = result.problems.count
        if let pad { skipForeignPad(token, element, pad) }
        guard result.problems.count == problems else { return .broken }
        let pads = [pad].compactMap { $0.map(parsed) } + parseMorePads()
        return ParsedLink.End(target: .reference(parsed(element)), pads: pads)
    }

    /// Parses `pads`: `.pad,pad`.
    private mutating func parsePads() -> [ParsedText] {
        guard let token, case .padReference(let name) = token.kind else { return [] }
        position += 1
        return [parsed(name)] + parseMorePads()
    }

    private mutating func parseMorePads() -> [ParsedText] {
        var pads: [ParsedText] = []
        while let token, token.isCharacter(","), position + 1 < tokens.count,
            case .identifier = tokens[position + 1].kind
        {
            pads.append(parsed(tokens[position + 1].range))
            position += 2
        }
        return pads
    }
}
