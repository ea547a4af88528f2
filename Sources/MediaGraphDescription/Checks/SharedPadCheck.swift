import GStreamer

/// Finds mixers and muxers that receive streams of several inputs without queues between. Each input's thread links its
/// stream when the stream appears, to the first free pad of the mixer. Two threads may choose the same pad; then one
/// stream is lost.
enum SharedPadCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        var first: [Int: (source: Int, pads: Set<String>)] = [:]
        var reported: Set<Int> = []
        return context.parsed.links.compactMap { link in
            guard let source = context.element(of: link.source), let sink = context.element(of: link.sink),
                link.sink.pads.isEmpty, let pads = pads(of: sink, for: link.source, source, context)
            else { return nil }
            guard let (other, taken) = first[sink] else {
                first[sink] = (source, pads)
                return nil
            }
            guard other != source, !taken.isDisjoint(with: pads), reported.insert(sink).inserted else { return nil }
            let name = context.parsed.elements[sink].name?.value ?? context.parsed.elements[sink].factory
            let labels = (context.label(other), context.label(source))
            let sources = labels.0 == labels.1 ? "two \(labels.0) elements" : "\(labels.0) and \(labels.1)"
            return Problem(
                place: .expanded(link.range), severity: .warning,
                message:
                    "\(sources) may link their streams to the same pad of \(context.label(sink)) "
                    + "while the graph starts; one stream would then be lost",
                hint: "put a queue before \(name) in each branch: ! queue ! \(name).")
        }
    }

    /// Returns the template names of the sink's request pads that streams of this source may use; `nil` if the streams
    /// exist when the description is linked, or if the sink has other kinds of pads.
    private static func pads(
        of sink: Int, for end: ParsedLink.End, _ source: Int, _ context: CheckContext
    ) -> Set<String>? {
        let outputs = (context.factories[source]?.padTemplates ?? []).filter { template in
            template.direction == .source && (end.pads.isEmpty || end.pads.contains { template.matches($0.text) })
        }
        let inputs = (context.factories[sink]?.padTemplates ?? []).filter { $0.direction == .sink }
        guard !outputs.isEmpty, outputs.allSatisfy({ $0.presence == .sometimes }), !inputs.isEmpty,
            inputs.allSatisfy({ $0.presence == .request })
        else { return nil }
        return Set(inputs.filter { input in outputs.contains { $0.caps.canIntersect(input.caps) } }.map(\.name))
    }
}
