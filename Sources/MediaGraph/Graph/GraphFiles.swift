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

    /// What `filesink`s write that hasn't ended.
    private var unfinishedFiles: [String] {
        pipeline.allElements.filter {
            $0.factoryName == "filesink" && $0.state >= .paused && $0.staticPad("sink")?.hasEnded == false
        }.compactMap { try? $0.property("location", as: String.self) }
    }
}

extension Element {
    /// What the sources upstream of this element read, as they name it.
    var inputPlaces: [String] {
        var open = [self]
        var seen: Set<Element> = []
        var places: [String] = []
        while let element = open.popLast() {
            guard seen.insert(element).inserted else { continue }
            let inputs = element.pads.filter { $0.direction == .sink }
            if inputs.isEmpty {
                places += ["location", "uri"].compactMap { try? element.property($0, as: String.self) }
            }
            open += inputs.compactMap { $0.neighbour?.parent }
        }
        return places
    }
}
