import GStreamer

/// What the checks know about a parsed description.
struct CheckContext {
    let parsed: ParsedDescription
    /// The factories of the elements that exist, by index.
    private(set) var factories: [Int: ElementFactoryInfo] = [:]
    /// The elements that have each name.
    let named: [String: [Int]]
    /// The links to each element and from it, by index, as far as the text tells which elements they connect.
    private var linksInto: [Int: [ParsedLink]] = [:]
    private var linksFrom: [Int: [ParsedLink]] = [:]

    init(_ parsed: ParsedDescription) {
        self.parsed = parsed
        named = Dictionary(
            grouping: parsed.elements.indices.filter { parsed.elements[$0].name != nil },
            by: { parsed.elements[$0].name!.value })
        for (index, element) in parsed.elements.enumerated() where !element.isURI && !element.isUnknown {
            factories[index] = ElementFactoryInfo.find(element.factory)
        }
        for link in parsed.links {
            if let sink = element(of: link.sink) { linksInto[sink, default: []].append(link) }
            if let source = element(of: link.source) { linksFrom[source, default: []].append(link) }
        }
    }

    func links(into element: Int) -> [ParsedLink] { linksInto[element] ?? [] }
    func links(from element: Int) -> [ParsedLink] { linksFrom[element] ?? [] }

    /// The links that lead to an element and what they lead from, the nearest first, as long as there is one way that the text
    /// tells.
    func chain(into element: Int) -> some Sequence<(link: ParsedLink, source: Int)> {
        var seen: Set<Int> = [element]
        return sequence(state: element) { index in
            let inputs = links(into: index)
            guard inputs.count == 1, let source = self.element(of: inputs[0].source), seen.insert(source).inserted
            else {
                return nil
            }
            index = source
            return (inputs[0], source)
        }
    }

    /// How messages call an element: by its name, where it was given one that says more than its factory's.
    func label(_ index: Int) -> String {
        let element = parsed.elements[index]
        guard let name = element.name, !name.isUnknown else { return element.factory }
        return "\(element.factory) \"\(name.value)\""
    }

    /// The element that a link's end is; `nil` when that can't be said from the text.
    func element(of end: ParsedLink.End) -> Int? {
        switch end.target {
        case .element(let index): index
        case .reference(let name): named[name.text].flatMap { $0.count == 1 ? $0[0] : nil }
        case .broken: nil
        }
    }

    /// The elements that each link leads from and to; `nil` where the text doesn't tell them all.
    var linkedElements: [(source: Int, sink: Int)]? {
        var linked: [(source: Int, sink: Int)] = []
        for link in parsed.links {
            guard let source = element(of: link.source), let sink = element(of: link.sink) else { return nil }
            linked.append((source, sink))
        }
        return linked
    }

    /// Whether a value is one of GStreamer's words for that.
    static func says(_ value: Bool, _ text: String) -> Bool {
        (value ? ["true", "1", "yes", "t"] : ["false", "0", "no", "f"]).contains(text.lowercased())
    }

    /// Whether the text sets a switch of an element so.
    func sets(_ property: String, to value: Bool, on index: Int) -> Bool {
        Self.says(value, parsed.elements[index].value(of: property) ?? "")
    }
}
