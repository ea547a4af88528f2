import GStreamer

/// Links must be possible: the pads must exist, be free, and have formats in common.
///
/// All that is known without making elements is their classes' pad templates. Pads that only appear while running are
/// never linked by the parser, so for those nobody else would say that no pad can ever match.
struct LinkCheck {
    private let context: CheckContext
    private var problems: [Problem] = []
    private var occupied: [PadUse: Int] = [:]
    /// What flows into elements that pass it on as it is, where filters before them say.
    private var carried: [Int: Caps] = [:]

    /// Elements that give what they get, in one format.
    private static let passingElements: Set = ["identity", "preprocessor", "queue", "queue2", "tee", "valve"]

    private struct PadUse: Hashable {
        let element: Int
        let direction: Pad.Direction
        /// `nil` counts all pads of this direction.
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
        /// The templates of the pads that it may be.
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
            return report(link.range, "\(context.label(source)) is linked to itself", nil, true)
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
            // One side may be unknown, or wrong and reported.
            guard let from = sourceSides?[min(index, sourceSides!.count - 1)],
                let to = sinkSides?[min(index, sinkSides!.count - 1)]
            else { continue }
            let (given, taken) = (given(from), caps(to))
            if let conflict = FormatConflict(
                from: given, to: taken, filter: filter, labels: (label(from), label(to)))
            {
                var problem = conflict.problem(at: link.range)
                // A pad that appears while running isn't linked by the parser, which therefore has nothing to say. Nor
                // does it know what a handler takes, or what comes through elements that take anything.
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

    /// GStreamer 1.22, where it finds no pads that fit, tries the request pads of both elements whatever their direction, and GLib
    /// complains: it mustn't be asked.
    private func isTriedBackwards(_ from: Side, _ to: Side) -> Bool {
        guard from.pad == nil || to.pad == nil else { return false }
        func has(_ side: Side, _ direction: Pad.Direction) -> Bool {
            context.factories[side.element]!.padTemplates.contains {
                $0.direction == direction && $0.presence == .request
            }
        }
        return has(from, .sink) && has(to, .source)
    }

    /// What the side's pads can carry: by their templates, or by what a node of ours is set to.
    private func caps(_ side: Side) -> Caps {
        let element = context.parsed.elements[side.element]
        return KnownNodes.node(element.factory)?.caps(of: element, side.direction) ?? side.caps
    }

    /// What comes out of a source side, by what flows into its element too.
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

    /// The pads that a link's end names, or one for any; `nil` when the element isn't known or has been reported.
    private mutating func sides(_ end: ParsedLink.End, _ element: Int?, _ direction: Pad.Direction) -> [Side]? {
        guard let element, let factory = context.factories[element] else { return nil }
        let all = factory.padTemplates
        // A bin's own pads are what was linked through it.
        if all.isEmpty, factory.isBin { return nil }
        let templates = all.filter { $0.direction == direction }
        guard !end.pads.isEmpty else {
            if templates.isEmpty {
                report(place(of: end, element), noPads(element, direction, all), nil, false)
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
            ? "\(context.label(element)) gives nothing: it has no source pad to link from"
            : "\(context.label(element)) takes nothing: it has no sink pad to link to"
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
        // With pads that appear while running the parser waits for one of that name, for ever.
        let waits = direction == .source && templates.contains { $0.presence == .sometimes }
        report(pad.range, "\(context.label(element)) has no pad \"\(pad.text)\"", hint, waits)
    }

    /// A pad that is always there takes one link, and so does one on request that is named.
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
                "a tee gives a stream to several elements"
            } else if let template = side.templates.first, template.presence == .request {
                "it creates pads on request; use another name that matches \(template.name)"
            } else {
                "a mixer or a funnel takes several streams"
            }
        report(side.pad?.range ?? link.range, "\(which) is linked already", hint, false)
    }

    private mutating func report(_ range: Range<Int>, _ message: String, _ hint: String?, _ isCertain: Bool) {
        problems.append(Problem(place: .expanded(range), message: message, hint: hint, isCertain: isCertain))
    }
}
