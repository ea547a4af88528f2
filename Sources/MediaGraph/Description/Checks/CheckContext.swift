import GStreamer

/// What the checks know about a parsed description.
struct CheckContext {
    let parsed: ParsedDescription
    /// The factories of the elements that exist, by index.
    private(set) var factories: [Int: ElementFactoryInfo] = [:]
    /// The elements that have each name.
    let named: [String: [Int]]

    init(_ parsed: ParsedDescription) {
        self.parsed = parsed
        named = Dictionary(
            grouping: parsed.elements.indices.filter { parsed.elements[$0].name != nil },
            by: { parsed.elements[$0].name!.value })
        for (index, element) in parsed.elements.enumerated() where !element.isURI && !element.isUnknown {
            factories[index] = ElementFactoryInfo.find(element.factory)
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
        parsed.elements[index].properties.contains { $0.name == property && Self.says(value, $0.value) }
    }
}
