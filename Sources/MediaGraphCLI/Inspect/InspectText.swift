import MediaGraph

/// The human-readable output of `mediagraph inspect`.
struct InspectText {
    let style: Style
    /// The width in columns to which text is wrapped.
    let width: Int

    // MARK: Overview

    /// A node with its handlers.
    struct Section: Encodable {
        var name: String
        var summary: String
        var handlers: [HandlerRecord]
    }

    func overview(_ nodes: [Section]) -> String {
        var lines = [style.paint("nodes", .bold)]
        let column = (nodes.map(\.name.count).max() ?? 0) + 4
        for node in nodes {
            lines.append("  " + entry(node.name, node.summary, column: column))
        }
        for node in nodes where !node.handlers.isEmpty {
            lines += ["", style.paint("handlers of \(node.name)", .bold)]
            for handler in node.handlers { lines += handlerLines(handler, column: column) }
        }
        lines += [
            "", "mediagraph inspect NAME shows a node, a handler or any GStreamer element.",
        ]
        return lines.joined(separator: "\n")
    }

    private func entry(_ name: String, _ text: String, column: Int, face: Style.Face = .name) -> String {
        let name = TextWidth.padded(name, to: column - 4) + "  "
        return style.paint(name, face) + TextWidth.wrapped(text, to: width, indent: column)
    }

    // MARK: A handler

    func handler(_ handler: HandlerRecord) -> String {
        var lines = ["\(style.paint(handler.name, .bold))  handler of \(handler.node)"]
        lines.append("  " + TextWidth.wrapped(handler.summary, to: width, indent: 2))
        if let library = handler.library { lines.append("  from \(library)") }
        lines += ["", style.paint("options", .bold)]
        if handler.options.isEmpty { lines.append("  none") }
        lines += optionLines(handler.options, indent: 2)
        // The example has all required options, or else one of the optional ones.
        let required = handler.options.filter(\.defaultValue.isEmpty).map { ($0.name, $0.example ?? "…") }
        let optional = handler.options.first { Double($0.defaultValue) != nil }.map { ($0.name, $0.defaultValue) }
        let shown = required.isEmpty ? [optional].compactMap(\.self) : required
        let text = shown.map { "\($0)=\($1)" }.joined(separator: ",")
        let options = text.isEmpty ? "" : " options=\"\(text)\""
        // Only a microphone handler that edits sound needs a source in front of the node.
        let entry = HandlerRegistry.shared.handlers(of: handler.node).first { $0.name == handler.name }
        let source = entry?.kind == .audioProcessor ? "audiotestsrc ! " : ""
        let mode = entry?.edits == true ? " mode=read-write" : ""
        lines += [
            "", style.paint("in a description", .bold),
            "  \(source)\(handler.node) handler=\(handler.name)\(options)\(mode)",
        ]
        return lines.joined(separator: "\n")
    }

    private func handlerLines(_ handler: HandlerRecord, column: Int) -> [String] {
        let origin = handler.library.map { " (from \($0))" } ?? ""
        return ["  " + entry(handler.name, handler.summary + origin, column: column)]
            + optionLines(handler.options, indent: column)
    }

    private func optionLines(_ options: [HandlerRecord.Option], indent: Int) -> [String] {
        let names = options.map { $0.defaultValue.isEmpty ? "\($0.name)=…" : "\($0.name)=\($0.defaultValue)" }
        let column = min(28, (names.map(TextWidth.columns).max() ?? 0) + 2)
        return zip(names, options).map { name, option in
            let text = TextWidth.wrapped(option.meaning, to: width, indent: indent + column)
            return String(repeating: " ", count: indent) + TextWidth.padded(name, to: column)
                + (TextWidth.columns(name) >= column ? "  " : "") + text
        }
    }

    // MARK: An element

    func element(_ element: ElementRecord) -> String {
        var lines = ["\(style.paint(element.name, .bold))  \(element.longName)"]
        lines.append("  " + TextWidth.wrapped(element.summary, to: width, indent: 2))
        let origin = element.plugin.map { "plugin \($0)" } ?? "part of this program"
        lines.append("  " + style.paint("\(element.classification) · \(origin)", .dim))
        lines += section("pads", element.pads.map(pad))
        lines += section("properties", element.properties.filter { $0.inheritedFrom == nil }.map(property))
        for parent in Set(element.properties.compactMap(\.inheritedFrom)).sorted() {
            lines += section(
                "properties of every \(parent)", element.properties.filter { $0.inheritedFrom == parent }.map(property))
        }
        lines += section("actions", element.actions.map(signal))
        lines += section("messages", element.messages.map(signal))
        if let handlers = element.handlers {
            lines += section("handlers", handlers.flatMap { handlerLines($0, column: 16) })
        }
        return lines.joined(separator: "\n")
    }

    private func section(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : ["", style.paint(title, .bold)] + lines
    }

    private func signal(_ signal: ElementRecord.Signal) -> String {
        "  \(style.paint(signal.name, .name))\n\(paragraph(signal.meaning))"
    }

    private func paragraph(_ text: String) -> String { "      " + TextWidth.wrapped(text, to: width, indent: 6) }

    private func pad(_ pad: ElementRecord.Pad) -> String {
        // The caps of some elements, such as parsers and muxers, have dozens of alternatives.
        let alternatives = pad.caps.split(separator: "; ").map { alternative in
            ["(string)", "(int)", "(fraction)"].reduce(String(alternative)) { $0.replacing($1, with: "") }
        }
        let shown = alternatives.prefix(6).map(paragraph)
        let more = alternatives.count > 6 ? ["      and \(alternatives.count - 6) more"] : []
        return (["  \(style.paint(pad.name, .name))  \(pad.direction), \(pad.presence)"] + shown + more)
            .joined(separator: "\n")
    }

    private func property(_ property: ElementRecord.Property) -> String {
        var facts = [property.type]
        if property.choices != nil {
            facts[0] = property.type == "flags" ? "any of these, joined by +" : "one of these"
        }
        if let minimum = property.minimum, let maximum = property.maximum { facts[0] += " \(minimum) … \(maximum)" }
        if let choices = property.choices, !listsChoices(choices) {
            facts[0] += ": " + choices.map(\.nick).joined(separator: ", ")
        }
        if let value = property.defaultValue, property.isWritable {
            facts.append("default \(value.isEmpty ? "\"\"" : value)")
        }
        if !property.isWritable { facts.append("read only") }
        if !property.isReadable { facts.append("write only") }
        if property.isLockedWhileRunning { facts.append("locked while running") }
        if property.isDeprecated { facts.append("deprecated") }
        let indent = TextWidth.columns(property.name) + 4
        var lines = [
            "  \(style.paint(property.name, .name))  "
                + TextWidth.wrapped(facts.joined(separator: ", "), to: width, indent: min(indent, 24))
        ]
        if !property.meaning.isEmpty { lines.append(paragraph(property.meaning)) }
        if let choices = property.choices, listsChoices(choices) {
            let column = (choices.map { TextWidth.columns($0.nick) }.max() ?? 0) + 2
            for choice in choices {
                let meaning = TextWidth.wrapped(choice.meaning, to: width, indent: 10 + column)
                lines.append("          \(TextWidth.padded(choice.nick, to: column))\(meaning)")
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Returns whether each choice gets a line of its own. If there are many, only their names are listed.
    private func listsChoices(_ choices: [ElementRecord.Choice]) -> Bool { choices.count <= 10 }
}
