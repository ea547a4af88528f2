import GStreamer

/// What lies behind the links of a description.
struct DescribedBranches {
    /// The elements that each element feeds, in the order of their links.
    let readers: [Int: [Int]]
    let context: CheckContext

    /// `nil` where the text doesn't tell all links.
    init?(_ context: CheckContext) {
        guard let linked = context.linkedElements else { return nil }
        self.context = context
        readers = Dictionary(grouping: linked, by: \.source).mapValues { $0.map(\.sink) }
    }

    static func isQueue(_ factory: ElementFactoryInfo) -> Bool {
        ["queue", "queue2", "multiqueue"].contains(factory.name)
    }

    /// A sink without a queue before it: the thread that brings its first buffer waits there for PLAYING.
    func holdsBuffers(_ index: Int) -> Bool { !ends(behind: index, past: { !Self.isQueue($0) }).isEmpty }

    /// A sink that PLAYING waits for. Some nodes don't preroll, nor do sinks with async=false.
    func prerolls(_ index: Int) -> Bool { prerollingEnd(behind: index) != nil }

    func prerollingEnd(behind index: Int) -> Int? {
        ends(behind: index, past: { _ in true }).first { end in
            !neverPrerolls(end) && !context.sets("async", to: false, on: end)
        }
    }

    /// Whether what comes there is kept until the graph plays: by a sink, or a pipe that delivers by the clock.
    func waitsForPlaying(_ index: Int) -> Bool {
        ends(behind: index, past: { _ in true }).contains {
            !neverPrerolls($0) || context.sets("sync", to: true, on: $0)
        }
    }

    private func neverPrerolls(_ index: Int) -> Bool {
        context.factories[index].flatMap { KnownNodes.node($0.name) }?.prerolls == false
    }

    /// The sinks that are reached through elements for which `passes` is true.
    private func ends(behind start: Int, past passes: (ElementFactoryInfo) -> Bool) -> [Int] {
        elements(behind: start, past: passes).filter { index in
            readers[index] == nil
                && context.factories[index]?.padTemplates.contains { $0.direction == .source && $0.presence == .always }
                    == false
        }
    }

    /// This element and those that get what it gives, through elements for which `passes` is true.
    func elements(behind start: Int, past passes: (ElementFactoryInfo) -> Bool = { _ in true }) -> [Int] {
        var found: [Int] = []
        var seen: Set<Int> = []
        var open = [start]
        while let index = open.popLast() {
            guard seen.insert(index).inserted, let factory = context.factories[index], passes(factory) else { continue }
            found.append(index)
            open += readers[index] ?? []
        }
        return found
    }
}
