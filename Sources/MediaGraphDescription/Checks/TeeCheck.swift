import GStreamer

/// Finds branches of a `tee` that block each other, because they share its thread. A sink in one branch blocks with its
/// first buffer until the graph plays, and the graph plays only when the sinks of later branches have a buffer too.
/// GStreamer then waits forever without a message.
enum TeeCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        guard let graph = DescribedBranches(context) else { return [] }
        return context.factories.sorted { $0.key < $1.key }.compactMap { index, factory in
            guard factory.name == "tee", let branches = graph.readers[index], branches.count > 1 else { return nil }
            // A tee pushes each buffer to its branches in the order of the links.
            let isStuck = branches.indices.dropLast().contains { first in
                graph.holdsBuffers(branches[first])
                    && branches[(first + 1)...].contains { graph.prerolls($0) }
            }
            guard isStuck else { return nil }
            let name = context.parsed.elements[index].name.map { "\($0.value). " } ?? ""
            return Problem(
                place: .expanded(context.parsed.elements[index].range), severity: .warning,
                message: "a branch of \(context.label(index)) has no queue, so the branches block each other",
                hint: "put a queue at the head of each branch: \(name)! queue ! …")
        }
    }
}
