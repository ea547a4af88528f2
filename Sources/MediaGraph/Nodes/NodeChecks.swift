import GStreamer

/// What the nodes know of their own properties beyond what GStreamer can check in a description.
enum NodeChecks {
    static let all: [any DescriptionCheck] = [HandlerCheck()]
}

/// `handler=` must be known, and `options=` must be ones that it has.
struct HandlerCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard let kind = HandlerRegistry.Kind.allCases.first(where: { $0.node == element.factory }),
            let handler = element.property("handler"), let name = handler.value, !name.isEmpty
        else { return [] }
        let known = HandlerRegistry.shared.handlers(kind)
        guard let entry = known.first(where: { $0.name == name }) else {
            let nearest = NearestName.find(name, among: known.map(\.name))
            return [
                handler.diagnostic(
                    "\(kind.node) has no handler \"\(name)\"",
                    hint: nearest.map { "did you mean \"\($0)\"?" }
                        ?? "one of \(known.map(\.name).joined(separator: ", "))")
            ]
        }
        guard let options = element.property("options"), let text = options.value else { return [] }
        guard let keys = HandlerOptions.keys(in: text) else {
            return [options.diagnostic("can't read options \"\(text)\"", hint: "key=value, separated by commas")]
        }
        let names = entry.options.map(\.name)
        return keys.filter { !names.contains($0) }.map { key in
            let hint =
                NearestName.find(key, among: names).map { "did you mean \"\($0)\"?" }
                ?? (names.isEmpty ? "it takes none" : "it takes \(names.joined(separator: ", "))")
            return options.diagnostic("\(kind.node) handler \(name) has no option \"\(key)\"", hint: hint)
        }
    }
}
