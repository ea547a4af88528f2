import GStreamer

/// A parsed description with its factories and links by element, for the checks. Elements are identified by their index
/// in the description.
struct CheckContext {
    let parsed: ParsedDescription
    /// The factories of the elements, without those that don't exist.
    private(set) var factories: [Int: ElementFactoryInfo] = [:]
    /// The elements with each name.
    let named: [String: [Int]]
    /// The links to and from each element, without links whose end the text doesn't determine.
    /// Whether the description is the value of a property.
    let isNested: Bool
    private var linksInto: [Int: [ParsedLink]] = [:]
    private var linksFrom: [Int: [ParsedLink]] = [:]

    init(_ parsed: ParsedDescription, isNested: Bool = false) {
        self.parsed = parsed
        self.isNested = isNested
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

    /// Returns the links upstream of an element with their sources, nearest first. Ends at an element that doesn't have
    /// exactly one input, or whose input the text doesn't determine.
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

    /// Returns an element's name for messages: its factory's name, followed by the name that the text gives it.
    func label(_ index: Int) -> String {
        let element = parsed.elements[index]
        guard let name = element.name, !name.isUnknown else { return element.factory }
        return "\(element.factory) \"\(name.value)\""
    }

    /// Returns the element at the end of a link; `nil` if the text doesn't determine it.
    func element(of end: ParsedLink.End) -> Int? {
        switch end.target {
        case .element(let index): index
        case .reference(let name): named[name.text].flatMap { $0.count == 1 ? $0[0] : nil }
        case .broken: nil
        }
    }

    /// The source and sink element of each link; `nil` if the text doesn't determine all of them.
    var linkedElements: [(source: Int, sink: Int)]? {
        var linked: [(source: Int, sink: Int)] = []
        for link in parsed.links {
            guard let source = element(of: link.source), let sink = element(of: link.sink) else { return nil }
            linked.append((source, sink))
        }
        return linked
    }

    /// Returns whether `text` is one of the words that GStreamer reads as this Boolean value.
    static func isBoolean(_ value: Bool, _ text: String) -> Bool {
        (value ? ["true", "1", "yes", "t"] : ["false", "0", "no", "f"]).contains(text.lowercased())
    }

    /// Returns whether the text sets a Boolean property of an element to `value`.
    func sets(_ property: String, to value: Bool, on index: Int) -> Bool {
        Self.isBoolean(value, parsed.elements[index].value(of: property) ?? "")
    }
}
