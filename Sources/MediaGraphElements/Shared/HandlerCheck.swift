import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// `handler=` must be known, and take its `options=`; a source or a pipe without one does nothing.
struct HandlerCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        let places = HandlerPlace.all(of: element.factory)
        let problems = places.flatMap { self.problems($0, element) }
        // One of several will do.
        guard problems.isEmpty, places.allSatisfy({ element.property($0.handler).map { $0.value == "" } ?? true })
        else {
            return problems + padsWithoutHandler(places, element)
        }
        return withoutHandler(places, element)
    }

    /// Warns of each linked pad whose own handler isn't set, on a node with several handlers.
    private func padsWithoutHandler(_ places: [HandlerPlace], _ element: DescribedElement) -> [Diagnostic] {
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

    private func problems(_ place: HandlerPlace, _ element: DescribedElement) -> [Diagnostic] {
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
        // An undefined variable is part of it.
        if let options, options.value == nil { return [] }
        let text = options?.value ?? ""
        guard let keys = HandlerOptions.keys(in: text) else {
            return [options?.diagnostic("can't read options \"\(text)\"", hint: HandlerOptions.syntax)]
                .compactMap(\.self)
        }
        let names = entry.options.map(\.name)
        let unknown = keys.filter { !names.contains($0) }
        let said = options ?? handler
        return unknown.map { key in
            let hint =
                NearestName.find(key, among: names).map { "did you mean \"\($0)\"?" }
                ?? (names.isEmpty ? "it takes none" : "it takes \(names.joined(separator: ", "))")
            return said.diagnostic("\(place.node) \(place.handler) \(name) has no option \"\(key)\"", hint: hint)
                .narrowed(toOption: key)
        } + badValues(entry, place, keys, text, said, hasUnknown: !unknown.isEmpty)
            + wrongExtensions(entry, text, said)
    }

    /// Warns if the handler writes a file whose name has the extension of another format.
    private func wrongExtensions(_ entry: HandlerRegistry.Entry, _ text: String, _ said: DescribedProperty)
        -> [Diagnostic]
    {
        // A handler may refuse them itself.
        guard refusal(of: text, entry) == nil, let values = try? HandlerOptions(text, handler: entry.name) else {
            return []
        }
        return entry.options.filter(\.isOutput).compactMap { option in
            let ending = FileKind.ending(of: option.example)
            guard let path = values.text(option.name), let kind = FileKind.of(path), !ending.isEmpty,
                !kind.endings.contains(ending)
            else { return nil }
            return said.diagnostic(
                "\(entry.name) writes .\(ending), so \"\(path)\" won't be \(kind.name) file",
                hint: "write \(option.name)=\(FileKind.renamed(path, to: ending))", severity: .warning
            ).narrowed(toOption: option.name)
        }
    }

    /// Reports the errors that the handler itself finds in its options, each at its option. The handler reports one error at
    /// a time, so the faulty option is replaced by its example, or removed, before the handler is asked again.
    private func badValues(
        _ entry: HandlerRegistry.Entry, _ place: HandlerPlace, _ keys: [String], _ text: String,
        _ said: DescribedProperty, hasUnknown: Bool
    ) -> [Diagnostic] {
        var found: [Diagnostic] = []
        var told: Set<String> = []
        var text = text
        while let error = refusal(of: text, entry) {
            let option = entry.options.first { error.detail.subject == HandlerOptions.subject($0.name, entry.name) }
            guard let option else {
                // Several options together; what was mended may be why.
                return told.isEmpty && !hasUnknown ? [said.diagnostic("\(error)")] : found
            }
            guard told.insert(option.name).inserted else { return found }
            let example = "\(option.name)=\(option.example.isEmpty ? "…" : option.example)"
            if keys.contains(option.name) {
                found.append(said.diagnostic("\(error)").narrowed(toOption: option.name))
            } else if !hasUnknown {
                found.append(
                    said.diagnostic(
                        "\(place.node) \(place.handler) \(entry.name) needs the option \"\(option.name)\"",
                        hint: "\(place.options)=\"\(example)\""))
            }
            text = HandlerOptions.replacing(option.name, with: option.isRequired ? example : nil, in: text)
        }
        return found
    }

    private func refusal(of options: String, _ entry: HandlerRegistry.Entry) -> MediaGraphError? {
        do throws(MediaGraphError) {
            try HandlerRegistry.shared.validate(entry.kind, entry.name, options: options)
            return nil
        } catch {
            return error
        }
    }

    private func optionsWithoutHandler(
        _ place: HandlerPlace, _ element: DescribedElement, _ known: [HandlerRegistry.Entry]
    ) -> [Diagnostic] {
        guard let options = element.property(place.options), options.value != "" else { return [] }
        return [
            options.diagnostic(
                "options are set, but no handler",
                hint: "set \(place.handler)= to one of \(known.map(\.name).joined(separator: ", "))")
        ]
    }

    private func withoutHandler(_ places: [HandlerPlace], _ element: DescribedElement) -> [Diagnostic] {
        let what: String
        switch places.first?.kinds.first {
        // A device's sound passes without one.
        case .microphone where element.isFed, .audioProcessor where element.isFed: return []
        // Somebody has the mix.
        case .audioConsumer where !element.sourcePads.isEmpty: return []
        case .source, .microphone, .audioProcessor: what = "\(element.factory) sends nothing without a handler"
        case .consumer: what = "nobody gets the frames of a rawdatapipe without a handler"
        case .observer: what = "nobody sees the frames of a frameobserver without a handler"
        case .audioConsumer: what = "nobody hears what a virtualspeaker without a handler receives"
        // A program or --control finds it by its name, and may give it one while it runs.
        case .processor where element.name == nil: what = "a preprocessor without a handler changes nothing"
        case .processor, nil: return []
        }
        let hint = places.map { place in
            "set \(place.handler)= to one of \(HandlerRegistry.shared.handlers(place).map(\.name).joined(separator: ", "))"
        }
        return [
            element.diagnostic(
                what, hint: "\(hint.joined(separator: "; ")); or attach one from your program", severity: .warning)
        ]
    }
}

extension Diagnostic {
    /// The same with its caret at `key=` inside the text that it points at, where that is in one line.
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
            // Up to the comma behind it; one inside a quoted value only makes the mark shorter.
            let value = rest.dropFirst().prefix { $0 != "," && $0 != "\"" }
            let place = SourceRange(
                file: range.file, line: range.line, column: start + 1, length: value.endIndex - start)
            return Diagnostic(
                severity: severity, message: message, range: place, hint: hint, sourceLine: sourceLine)
        }
        return self
    }
}
