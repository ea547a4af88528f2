import GStreamer

/// Branches of a `tee` that share its thread: a sink keeps the first buffer until the graph plays, which waits for the sinks
/// of the branches behind it. GStreamer waits with them, for ever and without a word.
enum TeeCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        guard let linked = context.linkedElements else { return [] }
        let readers = Dictionary(grouping: linked, by: \.source).mapValues { $0.map(\.sink) }
        let graph = Branches(readers: readers, context: context)
        return context.factories.sorted { $0.key < $1.key }.compactMap { index, factory in
            guard factory.name == "tee", let branches = readers[index], branches.count > 1 else { return nil }
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

    /// What lies behind the links of a description.
    private struct Branches {
        let readers: [Int: [Int]]
        let context: CheckContext

        /// A sink without a queue before it: the thread that brings its first buffer waits there for PLAYING.
        func holdsBuffers(_ index: Int) -> Bool {
            !ends(behind: index, past: { !["queue", "queue2", "multiqueue"].contains($0.name) }).isEmpty
        }

        /// A sink that PLAYING waits for. Pipes don't preroll, nor does what says so.
        func prerolls(_ index: Int) -> Bool {
            ends(behind: index, past: { _ in true }).contains { end in
                context.factories[end]?.name != RawDataPipeElement.declaration.factoryName
                    && !context.sets("async", to: false, on: end)
            }
        }

        /// The sinks that are reached through elements for which `passes` is true.
        private func ends(behind start: Int, past passes: (ElementFactoryInfo) -> Bool) -> [Int] {
            var ends: [Int] = []
            var seen: Set<Int> = []
            var open = [start]
            while let index = open.popLast() {
                guard seen.insert(index).inserted, let factory = context.factories[index], passes(factory) else {
                    continue
                }
                if let next = readers[index] {
                    open += next
                } else if !factory.padTemplates.contains(where: { $0.direction == .source && $0.presence == .always }) {
                    ends.append(index)
                }
            }
            return ends
        }
    }
}
