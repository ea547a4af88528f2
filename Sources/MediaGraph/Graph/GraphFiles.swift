import Dispatch
import GStreamer

extension Graph {
    /// Behind an error in one branch: has what flows in the others end, so that the files there are finished, and gives the
    /// paths of those that aren't within `limit`: their muxers haven't written what belongs at the end, or at the front.
    ///
    /// Before the graph is stopped. Empty for a graph that writes no files, at once.
    public func finishFiles(within limit: Duration) async -> [String] {
        guard !unfinishedFiles.isEmpty else { return [] }
        requestEndOfStream()
        let clock = ContinuousClock()
        let deadline = clock.now.advanced(by: limit)
        while !unfinishedFiles.isEmpty, clock.now < deadline {
            do { try await clock.sleep(for: .milliseconds(20)) } catch { break }
        }
        return unfinishedFiles
    }

    /// Writes what the `filesink`s have buffered, up to 64 KiB each, when the process is about to exit with a graph that doesn't
    /// stop. Blocks for at most `limit`. The files aren't finished: their muxers aren't asked.
    package func flushFiles(within limit: DispatchTimeInterval) {
        let flushes = DispatchGroup()
        for sink in unfinishedSinks {
            // Behind end-of-stream a sink that doesn't play yet would wait, after it has written.
            DispatchQueue(label: "mediagraph.flush").async(group: flushes) {
                _ = sink.staticPad("sink")?.trySendEndOfStream()
            }
        }
        _ = flushes.wait(timeout: .now() + limit)
    }

    /// Whether a `filesink` received no data, so that its file doesn't exist or is an older one.
    package var hasUnwrittenFile: Bool {
        pipeline.allElements.contains {
            $0.factoryName == "filesink" && !isPartOfNode($0) && streamWatch.count(of: $0) == 0
        }
    }

    /// The paths of what `filesink`s write that hasn't ended.
    package var unfinishedFiles: [String] {
        unfinishedSinks.compactMap { try? $0.property("location", as: String.self) }
    }

    private var unfinishedSinks: [Element] {
        pipeline.allElements.filter {
            $0.factoryName == "filesink" && $0.state >= .paused && $0.staticPad("sink")?.hasEnded == false
        }
    }
}

extension Element {
    /// What the sources upstream of this element read, as they name it.
    var inputPlaces: [String] {
        upstreamSources.flatMap { source in
            ["location", "uri"].compactMap { try? source.property($0, as: String.self) }
        }
    }

    /// Whether a source upstream was asked to end after some buffers.
    var hasLimitedInput: Bool {
        upstreamSources.contains { ((try? $0.property("num-buffers", as: Int32.self)) ?? -1) >= 0 }
    }

    /// The elements without sink pads that this element's data comes from, or the element itself.
    private var upstreamSources: [Element] {
        var open = [self]
        var seen: Set<Element> = []
        var sources: [Element] = []
        while let element = open.popLast() {
            guard seen.insert(element).inserted else { continue }
            let inputs = element.pads.filter { $0.direction == .sink }
            if inputs.isEmpty { sources.append(element) }
            open += inputs.compactMap { $0.neighbour?.parent }
        }
        return sources
    }
}
