// Parses elements and bins with their properties.
extension DescriptionParser {
    /// Parses `elementary`: an element with its properties, or a bin. Returns `nil` if the current token begins
    /// neither.
    mutating func parseElementary() -> Ends? {
        guard let token else { return nil }
        switch token.kind {
        case .identifier:
            if skipForeignName(token) || skipMisplacedFilter(token) { return Ends(first: .broken, last: .broken) }
            position += 1
            let index = add(ParsedElement(kind: .element, factory: bytes[token.range].text, range: token.range))
            parseProperties(of: index, presets: true)
            let end = ParsedLink.End(target: .element(index))
            return Ends(first: end, last: end)
        case .binOpening(let factory): return parseBin(token, factory: bytes[factory].text, range: factory)
        case .character(UInt8(ascii: "(")): return parseBin(token, factory: "bin", range: token.range)
        default: return nil
        }
    }

    private mutating func parseBin(_ opening: Token, factory: String, range: Range<Int>) -> Ends {
        position += 1
        guard enclosing.count < Self.maximumDepth else {
            report(
                opening.range, "bins are nested more than \(Self.maximumDepth) deep",
                "remove parentheses that aren't needed")
            isTooDeep = true
            position = tokens.count
            return Ends(first: .broken, last: .broken)
        }
        let index = add(ParsedElement(kind: .bin, factory: factory, range: range))
        parseProperties(of: index, presets: false)
        enclosing.append(index)
        let problems = result.problems.count
        let ends = parseChains(inBin: true)
        enclosing.removeLast()
        if let token, token.isCharacter(")") {
            position += 1
        } else if !isTooDeep {
            report(opening.range, "this parenthesis isn't closed", "write \")\" after the bin's last element")
        }
        guard let ends else {
            if result.problems.count == problems {
                report(opening.range, "this bin is empty", "a bin needs at least one element inside its parentheses")
            }
            return Ends(first: .broken, last: .broken)
        }
        // An error inside the bin may be the reason for a missing end, so the end counts as broken.
        if result.problems.count > problems { return Ends(first: ends.first ?? .broken, last: ends.last ?? .broken) }
        return ends
    }

    private mutating func parseProperties(of index: Int, presets: Bool) {
        while let token {
            switch token.kind {
            case .assignment(let name, let value):
                result.elements[index].properties.append(property(token, name, value))
            case .preset(let value) where presets:
                let text = PropertyText.unescaped(bytes[value]).text
                result.elements[index].presets.append(ParsedText(text: text, range: value))
            case .identifier where position + 1 < tokens.count && tokens[position + 1].isCharacter("="):
                // The grammar takes this for an element and a stray "=".
                let range = token.range.lowerBound..<tokens[position + 1].range.upperBound
                report(
                    range, "property \"\(bytes[token.range].text)\" has no value",
                    "write a value after \"=\"; an empty value is written \"\"")
                position += 1
            default: return
            }
            position += 1
        }
    }

    private func property(_ token: Token, _ name: Range<Int>, _ value: Range<Int>) -> ParsedProperty {
        let decoded = PropertyText.value(ofAssignment: bytes[token.range])
        return ParsedProperty(
            name: bytes[name].text, value: decoded.text, range: token.range, nameRange: name, valueRange: value,
            isUnknown: decoded.isUnknown || bytes[name].isUnknown || unclosed.contains(value.lowerBound))
    }

    mutating func add(_ element: ParsedElement) -> Int {
        var element = element
        element.parent = enclosing.last
        result.elements.append(element)
        return result.elements.count - 1
    }

    mutating func add(uri token: Token, _ direction: ParsedLink.Direction) -> Int {
        let uri = PropertyText.unescaped(bytes[token.range]).text
        return add(ParsedElement(kind: .uri(direction), factory: uri, range: token.range))
    }
}
