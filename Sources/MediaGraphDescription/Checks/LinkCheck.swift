import GStreamer

/// Checks that links are possible: that the pads exist, are free, and have a common format.
///
/// The check uses pad templates, because no elements are created. GStreamer's parser can't link pads that appear only
/// while the graph runs, so only this check reports that such a pad can never match.
struct LinkCheck {
    private let context: CheckContext
    private var problems: [Problem] = []
    /// The number of links to each pad.
    private var occupied: [PadUse: Int] = [:]
    /// The caps of the data that flows into the elements of `passingElements`, if filters upstream restrict them.
    private var carried: [Int: Caps] = [:]

    /// Elements that output the data that they receive, in the same format.
    private static let passingElements: Set = ["identity", "preprocessor", "queue", "queue2", "tee", "valve"]

    private struct PadUse: Hashable {
        let element: Int
        let direction: Pad.Direction
        /// The pad's name; `nil` stands for all pads of this direction.
        let pad: String?
    }

    static func problems(in context: CheckContext) -> [Problem] {
        var check = LinkCheck(context: context)
        for link in context.parsed.links { check.check(link) }
        return check.problems
    }

    private init(context: CheckContext) { self.context = context }

    /// One side of a link between two pads.
    private struct Side {
        let element: Int
        let direction: Pad.Direction
        let pad: ParsedText?
        /// The templates of the pads that the link may use.
        let templates: [PadTemplateInfo]

        var caps: Caps { templates.map(\.caps).reduce(nil) { $0?.merged(with: $1) ?? $1 } ?? .any }
    }

    private mutating func check(_ link: ParsedLink) {
        var filter: Caps?
        if let text = link.filter, !text.text.contains("…") {
            do {
                filter = try Caps(checking: text.text)
            } catch {
                let unescaped = text.text.replacing(/\\([()])/) { String($0.1) }
                let usual =
                    unescaped != text.text
                    ? "inside quotes, write parentheses without backslashes: \(unescaped)"
                    : "caps are written video/x-raw,width=320,height=240"
                let hint = if case .misread(let reason) = error { reason } else { usual }
                return report(text.range, "these aren't caps: \"\(text.text)\"", hint, true)
            }
        }
        let (source, sink) = (context.element(of: link.source), context.element(of: link.sink))
        if let source, source == sink {
            return report(
                link.range, "\(context.label(source)) is linked to itself", "link it to another element", true)
        }
        let sourceSides = sides(link.source, source, .source)
        let sinkSides = sides(link.sink, sink, .sink)
        guard sourceSides != nil || sinkSides != nil else { return }
        if link.source.pads.count > 1 || link.sink.pads.count > 1, link.source.pads.count != link.sink.pads.count {
            return report(
                link.range, "\(link.source.pads.count) pads can't be linked to \(link.sink.pads.count)",
                "name as many pads on one side as on the other", false)
        }
        for index in 0..<max(link.source.pads.count, link.sink.pads.count, 1) {
            // A side is nil if its element is unknown or has been reported.
            guard let from = sourceSides?[min(index, sourceSides!.count - 1)],
                let to = sinkSides?[min(index, sinkSides!.count - 1)]
            else { continue }
            let (given, taken) = (given(from), caps(to))
            if let conflict = FormatConflict(
                from: given, to: taken, filter: filter, labels: (label(from), label(to)))
            {
                var problem = conflict.problem(at: link.range)
                // GStreamer's parser can't refute the conflict of a pad that appears only while the graph runs, since
                // it doesn't link that pad. Nor does it know the formats of a handler, or those that arrive through
                // elements that accept any format.
                problem.isCertain =
                    from.templates.allSatisfy { $0.presence == .sometimes } || isTriedBackwards(from, to)
                    || FormatConflict(from: from.caps, to: to.caps, filter: filter, labels: ("", "")) == nil
                problems.append(problem)
            } else if !link.linksAllPads {
                carry(given, filter, into: to)
                occupy(from, link)
                occupy(to, link)
            }
        }
    }

    /// Returns whether GStreamer's parser would link pads in the wrong direction. If no pads fit, GStreamer 1.22 tries
    /// the request pads of both elements regardless of their direction, and GLib prints warnings. The parser mustn't be
    /// used then.
    private func isTriedBackwards(_ from: Side, _ to: Side) -> Bool {
        guard from.pad == nil || to.pad == nil else { return false }
        func has(_ side: Side, _ direction: Pad.Direction) -> Bool {
            context.factories[side.element]!.padTemplates.contains {
                $0.direction == direction && $0.presence == .request
            }
        }
        return has(from, .sink) && has(to, .source)
    }

    /// Returns the caps of the side's pads: from the settings of one of MediaGraph's nodes, or from the pad templates.
    private func caps(_ side: Side) -> Caps {
        let element = context.parsed.elements[side.element]
        return KnownNodes.node(element.factory)?.caps(of: element, side.direction) ?? side.caps
    }

    /// Returns the caps of a source side, restricted by the caps of the data that flows into its element.
    private func given(_ side: Side) -> Caps {
        let caps = caps(side)
        return carried[side.element].map { caps.intersection($0) } ?? caps
    }

    private mutating func carry(_ given: Caps, _ filter: Caps?, into side: Side) {
        let factory = context.parsed.elements[side.element].factory
        guard Self.passingElements.contains(factory) else { return }
        let flow = (filter.map { given.intersection($0) } ?? given).intersection(caps(side))
        if !flow.isAny, !flow.isEmpty { carried[side.element] = flow }
    }

    private func label(_ side: Side) -> String {
        let element = context.parsed.elements[side.element]
        let handler = KnownNodes.node(element.factory)?.formatHandler(of: element).map { " handler=\($0)" } ?? ""
        return context.label(side.element) + handler + (side.pad.map { " pad \($0.text)" } ?? "")
    }

    // MARK: Pads

    /// Returns a side for each pad that a link's end names, or one side for any pad; `nil` if the element is unknown or
    /// has been reported.
    private mutating func sides(_ end: ParsedLink.End, _ element: Int?, _ direction: Pad.Direction) -> [Side]? {
        guard let element, let factory = context.factories[element] else { return nil }
        let all = factory.padTemplates
        // A plain bin's pads are those of the elements inside.
        if all.isEmpty, factory.isBin { return nil }
        let templates = all.filter { $0.direction == direction }
        guard !end.pads.isEmpty else {
            if templates.isEmpty {
                report(
                    place(of: end, element), noPads(element, direction, all), remedy(forNoPads: element, direction),
                    false)
                return nil
            }
            return [Side(element: element, direction: direction, pad: nil, templates: templates)]
        }
        var sides: [Side] = []
        for pad in end.pads where !pad.text.contains("…") {
            let matching = templates.filter { $0.matches(pad.text) }
            if matching.isEmpty {
                reportNoPad(pad, element, direction, all)
            } else if let problem = UserPad.problem(of: pad.text, by: matching[0].name, factory.name) {
                report(
                    pad.range, "pad \"\(pad.text)\" of \(context.label(element)): \(problem.message)", problem.hint,
                    true)
            } else {
                sides.append(Side(element: element, direction: direction, pad: pad, templates: matching))
            }
        }
        return sides.count == end.pads.count ? sides : nil
    }

    private func place(of end: ParsedLink.End, _ element: Int) -> Range<Int> {
        if case .reference(let name) = end.target { name.range } else { context.parsed.elements[element].range }
    }

    private func noPads(_ element: Int, _ direction: Pad.Direction, _ all: [PadTemplateInfo]) -> String {
        direction == .source
            ? "\(context.label(element)) has no source pad, so nothing can be linked after it"
            : "\(context.label(element)) has no sink pad, so nothing can be linked before it"
    }

    /// Returns what to do with an element that has no pads of a link's direction.
    private func remedy(forNoPads element: Int, _ direction: Pad.Direction) -> String {
        let parsed = context.parsed.elements[element]
        let name = parsed.name.map { "\($0.value)." } ?? parsed.factory
        return direction == .source ? "end a chain with it: … ! \(name)" : "begin a chain with it: \(name) ! …"
    }

    private mutating func reportNoPad(
        _ pad: ParsedText, _ element: Int, _ direction: Pad.Direction, _ all: [PadTemplateInfo]
    ) {
        let side = direction == .source ? "source" : "sink"
        if all.contains(where: { $0.matches(pad.text) }) {
            let verb = direction == .source ? "from" : "to"
            return report(
                pad.range, "pad \"\(pad.text)\" of \(context.label(element)) isn't a \(side) pad",
                "a link goes \(verb) a \(side) pad", false)
        }
        let templates = all.filter { $0.direction == direction }
        let names = templates.map(\.name)
        let factory = context.parsed.elements[element].factory
        let hint =
            if names.isEmpty {
                "it has no \(side) pads"
            } else if names.contains(pad.text + "%s"),
                let byUser = UserPad.problem(of: pad.text, by: pad.text + "%s", factory)
            {
                byUser.hint
            } else {
                NearestName.find(pad.text, among: names).map { "did you mean \"\($0)\"?" }
                    ?? "its \(side) pads: \(names.joined(separator: ", "))"
            }
        // If the element's pads appear only while the graph runs, GStreamer waits forever for one of that name.
        let waits = direction == .source && templates.contains { $0.presence == .sometimes }
        report(pad.range, "\(context.label(element)) has no pad \"\(pad.text)\"", hint, waits)
    }

    /// Counts a link to the side's pad and reports a second one. A pad with presence ALWAYS takes one link, and so does
    /// a request pad with a given name.
    private mutating func occupy(_ side: Side, _ link: ParsedLink) {
        let element = side.element
        let all = context.factories[element]!.padTemplates.filter { $0.direction == side.direction }
        let isNamedRequest = side.pad.map { !$0.text.contains("%") } ?? false
        guard
            side.templates.allSatisfy({ $0.presence == .always || $0.presence == .request && isNamedRequest })
        else { return }
        let named = side.pad.map { PadUse(element: element, direction: side.direction, pad: $0.text) }
        if let named { occupied[named, default: 0] += 1 }
        let total = PadUse(element: element, direction: side.direction, pad: nil)
        if all.allSatisfy({ $0.presence == .always }) { occupied[total, default: 0] += 1 }
        guard occupied[total, default: 0] > all.count || named.map({ occupied[$0]! > 1 }) == true else { return }
        let which = side.pad.map { "pad \"\($0.text)\" of \(context.label(element))" } ?? "\(context.label(element))"
        let hint =
            if side.direction == .source {
                "to send its stream to several elements, put a tee after it"
            } else if let template = side.templates.first, template.presence == .request, template.name.contains("%") {
                "each pad takes one stream; name another one (\(template.name)), or leave the pads' names out"
            } else {
                "to combine several streams, use a mixer or a funnel"
            }
        report(side.pad?.range ?? link.range, "\(which) is already linked", hint, false)
    }

    private mutating func report(_ range: Range<Int>, _ message: String, _ hint: String?, _ isCertain: Bool) {
        problems.append(Problem(place: .expanded(range), message: message, hint: hint, isCertain: isCertain))
    }
}
