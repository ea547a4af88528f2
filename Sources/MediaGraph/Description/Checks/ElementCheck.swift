import GStreamer

/// Every element must exist, and every URI must have an element that handles it.
enum ElementCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        context.parsed.elements.indices.compactMap { index in
            let element = context.parsed.elements[index]
            if element.isUnknown || context.factories[index] != nil { return nil }
            if case .uri(let direction) = element.kind { return uriProblem(element, direction) }
            var problem = missing(element)
            if problem?.hint == nil, index > 0, let before = context.factories[index - 1],
                before.property(element.factory) != nil
            {
                problem?.hint = "as a property of \(before.name) it needs a value: \(element.factory)=…"
            }
            return problem
        }
    }

    private static func missing(_ element: ParsedElement) -> Problem? {
        var problem = Problem(place: .expanded(element.range), message: "no element \"\(element.factory)\"")
        switch ElementFactoryInfo.lookUp(element.factory) {
        case .found: return nil
        case .notLoadable:
            problem.message = "element \"\(element.factory)\" can't be loaded"
            problem.hint = "its plugin lacks something; gst-inspect-1.0 \(element.factory) says what"
        case .unknown:
            if let package = DebianPackages.shared.package(ofElement: element.factory) {
                problem.message += " on this machine; it is in the package \(package)"
                problem.hint = "apt install \(package)"
            } else if let near = NearestName.find(element.factory, among: ElementFactoryInfo.allNames) {
                problem.hint = "did you mean \"\(near)\"?"
            }
        }
        return problem
    }

    private static func uriProblem(_ element: ParsedElement, _ direction: ParsedLink.Direction) -> Problem? {
        let uri = element.factory
        let isSink = direction == .sink
        guard DescriptionProbe.isURI(uri), let name = DescriptionProbe.uriProtocol(uri) else {
            return Problem(
                place: .expanded(element.range), message: "\"\(uri)\" is neither an element nor a URI",
                hint: uri.hasPrefix("/")
                    ? "a file is \(isSink ? "filesink" : "filesrc") location=\(uri), or file://\(uri)" : nil)
        }
        if DescriptionProbe.isSupported(protocol: name, direction: isSink ? .sink : .source) { return nil }
        var problem = Problem(
            place: .expanded(element.range),
            message: "no element \(isSink ? "writes to" : "reads from") \"\(name)\" URIs")
        if let package = DebianPackages.shared.package(ofURI: name, isSink: isSink) {
            problem.message += " on this machine; there is one in the package \(package)"
            problem.hint = "apt install \(package)"
        }
        return problem
    }
}
