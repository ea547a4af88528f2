import GStreamer

/// The elements downstream of each element of a description.
struct DescribedBranches {
    /// The elements to which each element is linked, in the order of the links.
    let readers: [Int: [Int]]
    let context: CheckContext

    /// Creates the branches of a description; `nil` if the text doesn't determine all links.
    init?(_ context: CheckContext) {
        guard let linked = context.linkedElements else { return nil }
        self.context = context
        readers = Dictionary(grouping: linked, by: \.source).mapValues { $0.map(\.sink) }
    }

    static func isQueue(_ factory: ElementFactoryInfo) -> Bool {
        ["queue", "queue2", "multiqueue"].contains(factory.name)
    }

    /// Returns whether there is a sink without a queue between it and this element. The thread that delivers the sink's
    /// first buffer blocks there until PLAYING.
    func holdsBuffers(_ index: Int) -> Bool { !ends(behind: index, past: { !Self.isQueue($0) }).isEmpty }

    /// Returns whether there is a sink downstream for which PLAYING waits.
    func prerolls(_ index: Int) -> Bool { prerollingEnd(behind: index) != nil }

    /// Returns a sink downstream for which PLAYING waits. Some nodes don't preroll, and sinks with async=false don't
    /// either.
    func prerollingEnd(behind index: Int) -> Int? {
        ends(behind: index, past: { _ in true }).first { end in
            !neverPrerolls(end) && !context.sets("async", to: false, on: end)
        }
    }

    /// Returns whether buffers are held downstream until the graph plays: by a sink that prerolls, or by a pipe that
    /// synchronizes to the clock.
    func waitsForPlaying(_ index: Int) -> Bool {
        ends(behind: index, past: { _ in true }).contains {
            !neverPrerolls($0) || context.sets("sync", to: true, on: $0)
        }
    }

    private func neverPrerolls(_ index: Int) -> Bool {
        context.factories[index].flatMap { KnownNodes.node($0.name) }?.prerolls == false
    }

    /// Returns the sinks downstream of this element that are reached through elements for which `passes` returns true.
    private func ends(behind start: Int, past passes: (ElementFactoryInfo) -> Bool) -> [Int] {
        elements(behind: start, past: passes).filter { index in
            readers[index] == nil
                && context.factories[index]?.padTemplates.contains { $0.direction == .source && $0.presence == .always }
                    == false
        }
    }

    /// Returns this element and the elements downstream of it, as far as `passes` returns true for each.
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
