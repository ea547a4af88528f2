import GStreamer

/// Checks that every element exists, and that an element handles every URI.
enum ElementCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        // The search for similar names is the slowest part, so it runs once for each name.
        var findings: [String: Finding?] = [:]
        return context.parsed.elements.indices.compactMap { index in
            let element = context.parsed.elements[index]
            if element.isUnknown { return nil }
            if let factory = context.factories[index] { return element.isBin ? noBin(element, factory) : nil }
            if case .uri(let direction) = element.kind { return uriProblem(element, direction) }
            guard let finding = findings[element.factory, default: missing(element.factory)] else { return nil }
            findings[element.factory] = finding
            var hint = finding.hint
            if hint == nil, index > 0, let before = context.factories[index - 1],
                before.property(element.factory) != nil
            {
                hint = "to set the property of \(before.name), write \(element.factory)=…"
            }
            // The argument of a command may be meant as a file.
            let isAlone =
                !context.isNested && context.parsed.elements.count == 1 && context.parsed.links.isEmpty
                && element.properties.isEmpty
            return Problem(
                place: .expanded(element.range),
                message: finding.message + (isAlone ? ", nor a file of that name" : ""),
                hint: hint)
        }
    }

    /// Returns a problem for elements in the parentheses of an element that isn't a bin, for which GStreamer fails an
    /// assertion.
    private static func noBin(_ element: ParsedElement, _ factory: ElementFactoryInfo) -> Problem? {
        if factory.isBin { return nil }
        return Problem(
            place: .expanded(element.range), message: "\(element.factory) isn't a bin and can't contain other elements",
            hint: "to name a pad, write its name directly after the dot; for a plain bin, write bin.( … )")
    }

    private struct Finding {
        let message: String
        var hint: String?
    }

    private static func missing(_ name: String) -> Finding? {
        switch ElementFactoryInfo.lookUp(name) {
        case .found: return nil
        case .notLoadable:
            return Finding(
                message: "element \"\(name)\" can't be loaded",
                hint: "its plugin doesn't load; run gst-inspect-1.0 \(name) to see why")
        case .unknown:
            let message = "no element \"\(name)\""
            if let package = DebianPackages.shared.package(ofElement: name) {
                return Finding(
                    message: "\(message) on this machine; it is in the package \(package)",
                    hint: "sudo apt install \(package)")
            }
            if let node = KnownNodes.node(ofHandler: name) {
                return Finding(
                    message: message, hint: "\(name) is a handler; write \(node.factoryName) handler=\(name)")
            }
            return Finding(message: message, hint: similar(to: name).map { "did you mean \"\($0)\"?" })
        }
    }

    /// Returns the most similar element; for `mp3enc`, that is `lamemp3enc` rather than `vp8enc`.
    private static func similar(to name: String) -> String? {
        let names = ElementFactoryInfo.allNames
        let near = NearestName.find(name, among: names)
        if let near, NearestName.mistakes(name, near) < 2 { return near }
        guard name.count > 5, ["enc", "dec"].contains(where: name.hasSuffix) else { return near }
        let longer = names.filter { $0.hasSuffix(name) }
        return longer.min { ($0.count, $0) < ($1.count, $1) } ?? near
    }

    private static func uriProblem(_ element: ParsedElement, _ direction: ParsedLink.Direction) -> Problem? {
        let uri = element.factory
        let isSink = direction == .sink
        guard DescriptionProbe.isURI(uri), let name = DescriptionProbe.uriProtocol(uri) else {
            return Problem(
                place: .expanded(element.range), message: "\"\(uri)\" is neither an element nor a URI",
                hint: uri.hasPrefix("/")
                    ? "for a file, write \(isSink ? "filesink" : "filesrc") location=\(uri), or file://\(uri)" : nil)
        }
        if DescriptionProbe.isSupported(protocol: name, direction: isSink ? .sink : .source) { return nil }
        var problem = Problem(
            place: .expanded(element.range),
            message: "no element \(isSink ? "writes to" : "reads from") \"\(name)\" URIs")
        let supported = DescriptionProbe.protocols(isSink ? .sink : .source)
        if let package = DebianPackages.shared.package(ofURI: name, isSink: isSink) {
            problem.message += " on this machine; there is one in the package \(package)"
            problem.hint = "sudo apt install \(package)"
        } else if let near = NearestName.find(name, among: supported) {
            problem.hint = "did you mean \"\(near)\"?"
        } else {
            problem.hint = "`gst-inspect-1.0 --uri-handlers` lists the URIs that elements support"
        }
        return problem
    }
}
