import GStreamer
import Glibc

/// What the nodes know of their own properties beyond what GStreamer can check in a description.
enum NodeChecks {
    static let all: [any DescriptionCheck] = [HandlerCheck(), DisplayCheck(), MaskCheck(), FontCheck()]

    /// What a node's pads take by its properties, where their templates say more.
    static func caps(
        of factory: String, _ direction: Pad.Direction, property: (String) -> String?
    ) -> Caps? {
        guard factory == RawDataPipeElement.declaration.factoryName, direction == .sink else { return nil }
        switch BufferType(nick: property("buffer-type") ?? BufferType.raw.nick) {
        case .raw, .native: return BufferType.native.caps
        case .encoded: return BufferType.encoded.caps
        case nil: return nil
        }
    }
}

/// `handler=` must be known, and take its `options=`; a source or a pipe without one does nothing.
struct HandlerCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard let kind = HandlerRegistry.Kind.allCases.first(where: { $0.node == element.factory }) else { return [] }
        let known = HandlerRegistry.shared.handlers(kind)
        guard let handler = element.property("handler"), handler.value != "" else {
            return withoutHandler(kind, element, known)
        }
        guard let name = handler.value else { return [] }
        guard let entry = known.first(where: { $0.name == name }) else {
            let nearest = NearestName.find(name, among: known.map(\.name))
            return [
                handler.diagnostic(
                    "\(kind.node) has no handler \"\(name)\"",
                    hint: nearest.map { "did you mean \"\($0)\"?" }
                        ?? "one of \(known.map(\.name).joined(separator: ", "))")
            ]
        }
        let options = element.property("options")
        // An undefined variable is part of it.
        if let options, options.value == nil { return [] }
        let text = options?.value ?? ""
        guard let keys = HandlerOptions.keys(in: text) else {
            return [options?.diagnostic("can't read options \"\(text)\"", hint: "key=value, separated by commas")]
                .compactMap(\.self)
        }
        let names = entry.options.map(\.name)
        let unknown = keys.filter { !names.contains($0) }.compactMap { key -> Diagnostic? in
            let hint =
                NearestName.find(key, among: names).map { "did you mean \"\($0)\"?" }
                ?? (names.isEmpty ? "it takes none" : "it takes \(names.joined(separator: ", "))")
            return options?.diagnostic("\(kind.node) handler \(name) has no option \"\(key)\"", hint: hint)
                .narrowed(toOption: key)
        }
        return unknown.isEmpty ? badValues(entry, keys, text, options ?? handler) : unknown
    }

    /// What the handler itself says about the values, at the option that it names.
    private func badValues(
        _ entry: HandlerRegistry.Entry, _ keys: [String], _ text: String, _ place: DescribedProperty
    ) -> [Diagnostic] {
        do throws(MediaGraphError) {
            try HandlerRegistry.shared.validate(entry.kind, entry.name, options: text)
            return []
        } catch {
            let detail = error.detail
            let option = entry.options.first { detail.subject == HandlerOptions.subject($0.name, entry.name) }
            guard let option, keys.contains(option.name) else {
                let missing = option.map { "\(entry.kind.node) handler \(entry.name) needs the option \"\($0.name)\"" }
                let example = option.map { "\($0.name)=\($0.example.isEmpty ? "…" : $0.example)" }
                return [place.diagnostic(missing ?? "\(error)", hint: example.map { "options=\"\($0)\"" })]
            }
            return [place.diagnostic("\(error)").narrowed(toOption: option.name)]
        }
    }

    private func withoutHandler(
        _ kind: HandlerRegistry.Kind, _ element: DescribedElement, _ known: [HandlerRegistry.Entry]
    ) -> [Diagnostic] {
        if let options = element.property("options"), options.value != "" {
            return [
                options.diagnostic(
                    "options without a handler to take them",
                    hint: "handler= one of \(known.map(\.name).joined(separator: ", "))")
            ]
        }
        let what: String
        switch kind {
        case .source: what = "videosource sends nothing without a handler"
        case .consumer: what = "nobody gets the frames of a rawdatapipe without a handler"
        case .observer: what = "nobody sees the frames of a frameobserver without a handler"
        case .processor: return []
        }
        let names = known.map(\.name).joined(separator: ", ")
        return [
            element.diagnostic(
                what, hint: "handler= one of \(names); or a program attaches its own", severity: .warning)
        ]
    }
}

/// A sink that opens a window needs a display. Where there is none, GStreamer's choice of one can crash (in DirectFB).
struct DisplayCheck: DescriptionCheck {
    var environment: @Sendable (String) -> String? = { getenv($0).map { String(cString: $0) } }

    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == "autovideosink",
            ["DISPLAY", "WAYLAND_DISPLAY"].allSatisfy({ environment($0)?.isEmpty ?? true })
        else { return [] }
        return [
            element.diagnostic(
                "autovideosink needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set",
                hint: "without one GStreamer may crash here; fakesink and files need none", severity: .warning)
        ]
    }
}

extension Diagnostic {
    /// The same with its caret at `key=` inside the text that it points at, where that is in one line.
    fileprivate func narrowed(toOption key: String) -> Diagnostic {
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
