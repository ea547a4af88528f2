import GStreamer

/// Checks that names are unique in their bin, and that each reference names an element. For a name that is used twice,
/// GStreamer only prints a GLib warning and leaves the second element out of the pipeline.
enum NameCheck {
    static func problems(in context: CheckContext) -> [Problem] { duplicates(context) + undefined(context) }

    private static func duplicates(_ context: CheckContext) -> [Problem] {
        struct Key: Hashable {
            let parent: Int?
            let name: String
        }
        var seen: Set<Key> = []
        let automatic = automaticPrefixes(context)
        return context.parsed.elements.compactMap { element in
            guard let name = element.name, !name.isUnknown else { return nil }
            if !seen.insert(Key(parent: element.parent, name: name.value)).inserted {
                return Problem(
                    place: .expanded(name.valueRange), message: "two elements have the name \"\(name.value)\"",
                    hint: "choose another name; names are unique in a bin")
            }
            if let other = automatic[element.parent]?.first(where: { isAutomatic(name.value, $0.key) })?.value {
                return Problem(
                    place: .expanded(name.valueRange),
                    message: "GStreamer may name another element \"\(name.value)\" too",
                    hint: "choose another name, or name the \(other) as well")
            }
            return nil
        }
    }

    /// Returns, for each bin, the prefixes of the names that GStreamer generates for unnamed elements, with their
    /// factories.
    private static func automaticPrefixes(_ context: CheckContext) -> [Int?: [String: String]] {
        var prefixes: [Int?: [String: String]] = [:]
        for (index, factory) in context.factories {
            let element = context.parsed.elements[index]
            if element.name == nil { prefixes[element.parent, default: [:]][factory.defaultNamePrefix] = factory.name }
        }
        // GStreamer adds an unnamed capsfilter for a link with a filter.
        for link in context.parsed.links where link.filter != nil {
            if let source = context.element(of: link.source) {
                prefixes[context.parsed.elements[source].parent, default: [:]]["capsfilter"] = "filter"
            }
        }
        return prefixes
    }

    /// Returns whether GStreamer may generate this name: the prefix, followed by a number.
    static func isAutomatic(_ name: String, _ prefix: String) -> Bool {
        let number = name.dropFirst(prefix.count)
        return name.hasPrefix(prefix) && !number.isEmpty && number.utf8.allSatisfy(\.isDigit)
    }

    private static func undefined(_ context: CheckContext) -> [Problem] {
        // The value of an undefined variable may contain any name.
        if context.parsed.elements.contains(where: { $0.isUnknown || $0.name?.isUnknown == true }) { return [] }
        let names = context.named.keys.sorted()
        let automatic = automaticPrefixes(context).values.flatMap(\.keys)
        return context.parsed.links.flatMap { [$0.source, $0.sink] }.compactMap { end in
            guard case .reference(let name) = end.target, context.named[name.text] == nil,
                !name.text.contains("…"), !automatic.contains(where: { isAutomatic(name.text, $0) })
            else { return nil }
            let near = NearestName.find(name.text, among: names).map { "did you mean \"\($0)\"?" }
            let known =
                names.isEmpty
                ? "no element here has a name; set name=\(name.text) on one"
                : "names here: \(names.joined(separator: ", "))"
            // The name may be that of an element inside another element that is a bin, so GStreamer's parser decides.
            // But if the description has no element at all, GStreamer 1.22 dereferences a null pointer, so the parser
            // mustn't be used.
            return Problem(
                place: .expanded(name.range), message: "no element is named \"\(name.text)\"",
                hint: near ?? known,
                isCertain: context.parsed.elements.isEmpty)
        }
    }
}
