import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// Checks that `handler=` names a registered handler and that the handler accepts its `options=`. Warns about a node
/// that does nothing without a handler.
struct HandlerCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        let places = HandlerProperty.all(of: element.factory)
        let problems = places.flatMap { self.problems($0, element) }
        // On a node with several handlers, setting one of them is enough.
        guard problems.isEmpty, places.allSatisfy({ element.property($0.handler).map { $0.value == "" } ?? true })
        else {
            return problems + padsWithoutHandler(places, element)
        }
        return withoutHandler(places, element)
    }

    /// Warns of each linked pad whose own handler isn't set, on a node with several handlers.
    private func padsWithoutHandler(_ places: [HandlerProperty], _ element: DescribedElement) -> [Diagnostic] {
        places.compactMap { place in
            guard let pad = place.pad, element.property(place.handler).map({ $0.value == "" }) ?? true,
                element.sourcePads.contains(pad) || pad == "src" && element.sourcePads.contains("")
            else { return nil }
            let known = HandlerRegistry.shared.handlers(place).map(\.name).joined(separator: ", ")
            return element.diagnostic(
                "\(place.node) has no handler for its linked pad \(pad)",
                hint: "set \(place.handler)= to one of \(known), or attach one from your program", severity: .warning)
        }
    }

    private func problems(_ place: HandlerProperty, _ element: DescribedElement) -> [Diagnostic] {
        let known = HandlerRegistry.shared.handlers(place)
        guard let handler = element.property(place.handler), handler.value != "" else {
            return optionsWithoutHandler(place, element, known)
        }
        guard let name = handler.value else { return [] }
        guard let entry = known.first(where: { $0.name == name }) else {
            let nearest = NearestName.find(name, among: known.map(\.name))
            return [
                handler.diagnostic(
                    "\(place.node) has no \(place.handler) \"\(name)\"",
                    hint: nearest.map { "did you mean \"\($0)\"?" }
                        ?? "available: \(known.map(\.name).joined(separator: ", ")); to load your own, use --load "
                        + "LIBRARY.so or MEDIAGRAPH_HANDLERS")
            ]
        }
        let options = element.property(place.options)
        // `value` is `nil` if the text contains an undefined variable.
        if let options, options.value == nil { return [] }
        let text = options?.value ?? ""
        guard let keys = HandlerOptions.keys(in: text) else {
            return [options?.diagnostic("can't read options \"\(text)\"", hint: HandlerOptions.syntax)]
                .compactMap(\.self)
        }
        let names = entry.options.map(\.name)
        let unknown = keys.filter { !names.contains($0) }
        let property = options ?? handler
        return unknown.map { key in
            let hint =
                NearestName.find(key, among: names).map { "did you mean \"\($0)\"?" }
                ?? (names.isEmpty
                    ? "\(name) has no options" : "available options: \(names.joined(separator: ", "))")
            return property.diagnostic("\(place.node) \(place.handler) \(name) has no option \"\(key)\"", hint: hint)
                .narrowed(toOption: key)
        } + badValues(entry, place, keys, text, property, hasUnknown: !unknown.isEmpty)
            + wrongExtensions(entry, text, property)
    }

    /// Warns if the handler writes a file whose name has the extension of another format.
    private func wrongExtensions(_ entry: HandlerRegistry.Entry, _ text: String, _ property: DescribedProperty)
        -> [Diagnostic]
    {
        // If the handler itself refuses the options, `badValues` reports that.
        guard refusal(of: text, entry) == nil, let values = try? HandlerOptions(text, handler: entry.name) else {
            return []
        }
        return entry.options.filter(\.isOutput).compactMap { option in
            let fileExtension = FileKind.fileExtension(of: option.example)
            guard let path = values.text(option.name), let kind = FileKind.of(path), !fileExtension.isEmpty,
                !kind.fileExtensions.contains(fileExtension)
            else { return nil }
            return property.diagnostic(
                "\(entry.name) writes .\(fileExtension), so \"\(path)\" won't be \(kind.name) file",
                hint: "write \(option.name)=\(FileKind.renamed(path, to: fileExtension))", severity: .warning
            ).narrowed(toOption: option.name)
        }
    }

    /// Reports the errors that the handler itself finds in its options, each at its option. The handler reports one
    /// error at a time, so the faulty option is replaced by its example, or removed, before the handler is asked again.
    private func badValues(
        _ entry: HandlerRegistry.Entry, _ place: HandlerProperty, _ keys: [String], _ text: String,
        _ property: DescribedProperty, hasUnknown: Bool
    ) -> [Diagnostic] {
        var found: [Diagnostic] = []
        var reported: Set<String> = []
        var text = text
        while let error = refusal(of: text, entry) {
            let option = entry.options.first { error.detail.subject == HandlerOptions.subject($0.name, entry.name) }
            guard let option else {
                // The error is about several options together. Report it only if no option was replaced or unknown:
                // otherwise the replacement or the unknown option may be its cause.
                return reported.isEmpty && !hasUnknown ? [property.diagnostic("\(error)")] : found
            }
            guard reported.insert(option.name).inserted else { return found }
            let example = "\(option.name)=\(option.example.isEmpty ? "…" : option.example)"
            if keys.contains(option.name) {
                found.append(property.diagnostic("\(error)").narrowed(toOption: option.name))
            } else if !hasUnknown {
                found.append(
                    property.diagnostic(
                        "\(place.node) \(place.handler) \(entry.name) needs the option \"\(option.name)\"",
                        hint: "\(place.options)=\"\(example)\""))
            }
            text = HandlerOptions.replacing(option.name, with: option.isRequired ? example : nil, in: text)
        }
        return found
    }

    /// Returns the error that the handler itself reports for its options; `nil` if it accepts them.
    private func refusal(of options: String, _ entry: HandlerRegistry.Entry) -> MediaGraphError? {
        do throws(MediaGraphError) {
            try HandlerRegistry.shared.validate(entry.kind, entry.name, options: options)
            return nil
        } catch {
            return error
        }
    }

    private func optionsWithoutHandler(
        _ place: HandlerProperty, _ element: DescribedElement, _ known: [HandlerRegistry.Entry]
    ) -> [Diagnostic] {
        guard let options = element.property(place.options), options.value != "" else { return [] }
        return [
            options.diagnostic(
                "options are set, but no handler",
                hint: "set \(place.handler)= to one of \(known.map(\.name).joined(separator: ", "))")
        ]
    }

    private func withoutHandler(_ places: [HandlerProperty], _ element: DescribedElement) -> [Diagnostic] {
        let message: String
        switch places.first?.kinds.first {
        // A device's sound passes through the node without a handler.
        case .microphone where element.hasInput, .audioProcessor where element.hasInput: return []
        // The mix leaves the node by `src`.
        case .audioConsumer where !element.sourcePads.isEmpty: return []
        // The frames leave the node by `src`.
        case .consumer
        where !element.sourcePads.isEmpty
            && (element.sets("engine-render", to: true)
                || element.property("src-format")?.value == SourceFormat.asDelivered.nick):
            return []
        case .source, .microphone, .audioProcessor: message = "\(element.factory) sends nothing without a handler"
        case .consumer: message = "a rawdatapipe without a handler delivers no frames"
        case .observer: message = "a frameobserver without a handler observes nothing"
        case .audioConsumer: message = "a virtualspeaker without a handler delivers no sound"
        // A program or --control can find a named preprocessor and give it a handler while the graph runs.
        case .processor where element.name == nil: message = "a preprocessor without a handler changes nothing"
        case .processor, nil: return []
        }
        let hint = places.map { place in
            "set \(place.handler)= to one of \(HandlerRegistry.shared.handlers(place).map(\.name).joined(separator: ", "))"
        }
        return [
            element.diagnostic(
                message, hint: "\(hint.joined(separator: "; ")); or attach one from your program", severity: .warning)
        ]
    }
}

extension Diagnostic {
    /// Returns the diagnostic with its caret moved to `key=` inside the text that it points at. Returns the diagnostic
    /// unchanged if `key=` isn't found in that line.
    func narrowed(toOption key: String) -> Diagnostic {
        let scalars = Array(sourceLine.unicodeScalars)
        let name = Array(key.unicodeScalars)
        let begin = min(max(range.column - 1, 0), scalars.count)
        let end = min(begin + range.length, scalars.count)
        let separators: Set<Unicode.Scalar> = [" ", "\t", ",", "\"", "'", "="]
        for start in begin..<end where start == begin || separators.contains(scalars[start - 1]) {
            guard scalars[start..<end].starts(with: name) else { continue }
            let rest = scalars[(start + name.count)..<end].drop { $0 == " " }
            guard rest.first == "=" else { continue }
            // The mark ends at the next comma. A comma inside a quoted value only makes the mark shorter.
            let value = rest.dropFirst().prefix { $0 != "," && $0 != "\"" }
            let place = SourceRange(
                file: range.file, line: range.line, column: start + 1, length: value.endIndex - start)
            return Diagnostic(
                severity: severity, message: message, range: place, hint: hint, sourceLine: sourceLine)
        }
        return self
    }
}
