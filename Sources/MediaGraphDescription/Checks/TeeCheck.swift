import GStreamer

/// Branches of a `tee` that share its thread: a sink keeps the first buffer until the graph plays, which waits for the sinks
/// of the branches behind it. GStreamer waits with them, for ever and without a word.
enum TeeCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        guard let graph = DescribedBranches(context) else { return [] }
        return context.factories.sorted { $0.key < $1.key }.compactMap { index, factory in
            guard factory.name == "tee", let branches = graph.readers[index], branches.count > 1 else { return nil }
            // They get each buffer in the order of their links.
            let isStuck = branches.indices.dropLast().contains { first in
                graph.holdsBuffers(branches[first])
                    && branches[(first + 1)...].contains { graph.prerolls($0) }
            }
            guard isStuck else { return nil }
            let name = context.parsed.elements[index].name.map { "\($0.value). " } ?? ""
            return Problem(
                place: .expanded(context.parsed.elements[index].range), severity: .warning,
                message: "the branches of \(context.label(index)) wait for each other: one has no queue",
                hint: "put one at the head of each: \(name)! queue ! …")
        }
    }
}
