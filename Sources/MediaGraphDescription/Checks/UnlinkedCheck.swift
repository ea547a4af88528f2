import GStreamer

/// Finds elements whose input or output isn't linked. GStreamer accepts them, and then an unlinked sink waits forever
/// for its first buffer, and so does the pipeline. The check is only for descriptions to which no program adds links.
///
/// Links to pads that appear later, and links by name, count as links. Request pads may stay unlinked.
enum UnlinkedCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        guard let links = LinkedSides(context) else { return [] }
        var problems: [Problem] = []
        // Elements whose missing link has been reported with the element after them.
        var reported: Set<Int> = []
        for (index, factory) in context.factories.sorted(by: { $0.key < $1.key })
        where !context.parsed.elements[index].isBin && !links.sinks.contains(index) {
            guard let finding = unfed(index, factory, isRead: links.sources.contains(index), context) else { continue }
            let before = unread(before: index, links, context)
            if let before { reported.insert(before) }
            problems.append(
                Problem(
                    place: .expanded(context.parsed.elements[index].range), severity: finding.severity,
                    message: finding.message, hint: hint(index, after: before, context)))
        }
        for (index, factory) in context.factories.sorted(by: { $0.key < $1.key })
        where !context.parsed.elements[index].isBin && !links.sources.contains(index) && !reported.contains(index) {
            // An element without its input has no output either, except for sources with an optional input.
            guard hasOutput(index, factory, context),
                links.sinks.contains(index) || !factory.has(.sink) || factory.classification.hasPrefix("Source")
            else { continue }
            problems.append(
                Problem(
                    place: .expanded(context.parsed.elements[index].range), severity: .warning,
                    message:
                        "the output of \(context.label(index)) isn't linked: its stream will fail with not-linked",
                    hint: "link it: \(context.reference(index)) ! …"))
        }
        return problems
    }

    private static func unfed(
        _ index: Int, _ factory: ElementFactoryInfo, isRead: Bool, _ context: CheckContext
    ) -> (severity: Diagnostic.Severity, message: String)? {
        let label = context.label(index)
        guard factory.has(.sink, .always) else {
            // The input of a mixer or a muxer is a request pad. Exceptions: bins may have other inputs (those of a
            // session come from the network), and live mixers and sources with an optional input have output without
            // input.
            if let lack = KnownNodes.node(factory.name)?.missingInputEffect {
                return isRead
                    ? (.error, "nothing is linked to \(label), so elements downstream would wait forever")
                    : (.warning, "nothing is linked to \(label): \(lack)")
            }
            guard isRead, !factory.isBin, !factory.classification.hasPrefix("Source"), factory.has(.sink, .request),
                factory.has(.source, .always),
                !context.sets("force-live", to: true, on: index)
            else { return nil }
            return (.warning, "nothing is linked to \(label), so it outputs nothing")
        }
        if isRead { return (.error, "nothing is linked to \(label), so elements downstream would wait forever") }
        let isEnd = !factory.has(.source, .always) && !factory.has(.source, .sometimes)
        if context.parsed.elements.count == 1, !isEnd {
            return (.error, "\(label) by itself does nothing, and the graph would never end")
        }
        // A sink with async=false doesn't delay the pipeline.
        return isEnd && !context.sets("async", to: false, on: index)
            ? (.error, "nothing is linked to \(label), so it would wait forever")
            : (.warning, "\(label) isn't linked to anything: it does nothing")
    }

    /// Returns the element directly before this one if its output isn't linked: a `!` may be missing between the two.
    private static func unread(before index: Int, _ links: LinkedSides, _ context: CheckContext) -> Int? {
        let elements = context.parsed.elements
        guard index > 0, elements[index - 1].parent == elements[index].parent, !elements[index - 1].isBin,
            !links.sources.contains(index - 1), context.factories[index - 1]?.has(.source) == true
        else { return nil }
        return index - 1
    }

    private static func hint(_ index: Int, after before: Int?, _ context: CheckContext) -> String {
        let factory = context.parsed.elements[index].factory
        guard let before else {
            return context.parsed.elements.count == 1 && context.factories[index]?.has(.source, .always) == true
                ? "link a source before it and a sink after it: … ! \(factory) ! …"
                : "link an element to it: … ! \(factory)"
        }
        let missing = "is a \"!\" missing before it?"
        guard let name = context.parsed.elements[before].name?.value else { return missing }
        return "\(missing) Or link it by name: \(name). ! \(factory)"
    }

    /// Returns whether the element has an output that must be linked.
    private static func hasOutput(_ index: Int, _ factory: ElementFactoryInfo, _ context: CheckContext) -> Bool {
        if factory.has(.source, .always) { return true }
        let element = context.parsed.elements[index]
        return factory.name == "tee" && !element.properties.contains { $0.name == "allow-not-linked" }
    }

    /// The elements from which and to which links lead.
    private struct LinkedSides {
        let sources: Set<Int>
        let sinks: Set<Int>

        /// Creates the sets; `nil` if the text doesn't determine all links.
        init?(_ context: CheckContext) {
            guard context.parsed.problems.isEmpty, !context.parsed.elements.contains(where: \.isUnknown) else {
                return nil
            }
            guard let linked = context.linkedElements else { return nil }
            sources = Set(linked.map(\.source))
            sinks = Set(linked.map(\.sink))
        }
    }
}

extension ElementFactoryInfo {
    fileprivate func has(_ direction: Pad.Direction, _ presence: PadTemplateInfo.Presence? = nil) -> Bool {
        padTemplates.contains { $0.direction == direction && (presence == nil || $0.presence == presence) }
    }
}

extension CheckContext {
    /// Returns the text with which a link from the element begins in a new chain.
    fileprivate func reference(_ index: Int) -> String {
        let element = parsed.elements[index]
        return element.name.map { "\($0.value)." } ?? element.factory
    }
}
