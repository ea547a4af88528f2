import Dispatch
import GStreamer
import MediaGraphCore
import MediaGraphElements

extension Graph {
    /// Ends the other branches after an error in one branch, so that their files are completed. Waits at most `limit`
    /// and returns the paths of the files that aren't complete: their muxers haven't written the end, or the header, of
    /// the file.
    ///
    /// Call this before the graph is stopped. Returns at once if the graph writes no files.
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

    /// Writes the data that the `filesink`s have buffered, up to 64 KiB each. For a process that is about to exit
    /// although its graph doesn't stop. Blocks for at most `limit`. The files stay incomplete, because their muxers
    /// aren't involved.
    package func flushFiles(within limit: Duration) {
        let flushes = DispatchGroup()
        for sink in unfinishedSinks {
            // A sink that isn't PLAYING writes its data on EOS and then blocks, hence the queue.
            DispatchQueue(label: "mediagraph.flush").async(group: flushes) {
                _ = sink.staticPad("sink")?.trySendEndOfStream()
            }
        }
        _ = flushes.wait(timeout: .now() + .nanoseconds(Int(clamping: limit.nanoseconds)))
    }

    /// Whether a `filesink` has received no data, so that its file doesn't exist or is from an earlier run.
    package var hasUnwrittenFile: Bool {
        pipeline.allElements.contains {
            $0.factoryName == "filesink" && !isPartOfNode($0) && streamWatch.count(of: $0) == 0
        }
    }

    /// The paths of the files of `filesink`s that haven't received EOS.
    package var unfinishedFiles: [String] {
        unfinishedSinks.compactMap { try? $0.property("location", as: String.self) }
    }

    /// The files that would be incomplete if the process exited now: ``unfinishedFiles``, and the files of handlers whose
    /// streams haven't ended. A pattern stands for the files of several streams.
    package var filesAtRisk: [String] {
        unfinishedFiles
            + pipeline.allElements.filter { element in
                element.state >= .paused && !HandlerProperty.all(of: element.factoryName ?? "").isEmpty
                    && element.pads.contains { $0.direction == .sink && !$0.hasEnded }
            }.flatMap { FileUse.all(of: $0) }.filter { $0.access == .writes && FileName($0.path) != nil }.map(\.path)
    }

    private var unfinishedSinks: [Element] {
        pipeline.allElements.filter {
            $0.factoryName == "filesink" && $0.state >= .paused && $0.staticPad("sink")?.hasEnded == false
        }
    }
}

extension Graph {
    /// Returns why a property mustn't be set to this text while the graph runs; `nil` if it may be set.
    ///
    /// The reason is a conflict over a file: the element would write a file that the graph or the program reads or
    /// writes elsewhere, such as the description's own, or would read one that is being written. `besides` are the
    /// files that the program itself uses.
    package func fileConflict(
        setting property: String, of element: Element, to text: String, besides own: [FileUse] = []
    ) -> String? {
        // GObject takes `_` for `-`, and GStreamer removes the quotes around a text.
        let property = property.replacing("_", with: "-")
        let uses = FileUse.all(of: element, setting: property, to: FileUse.unquoted(text))
        guard !uses.isEmpty else { return nil }
        // Elements inside the same bin may use the bin's file.
        let others = pipeline.allElements.filter { other in
            other != element && !other.ancestors.contains(element) && !element.ancestors.contains(other)
        }.flatMap { FileUse.all(of: $0) }
        let names = uses.map { FileName($0.path, style: $0.style) }
        for (index, use) in uses.enumerated() {
            guard let name = names[index] else { continue }
            if use.access == .writes, !["description", "<stdin>"].contains(description.name),
                FileName(description.name)?.overlaps(name) == true
            {
                return "\(use.user) would write \(use.name), which is this description's own file; name another file"
            }
            let itself = uses.indices.first { other in
                other != index && use.excludes(uses[other]) && names[other]?.overlaps(name) == true
            }.map { uses[$0] }
            let other =
                itself
                ?? (others + own).first {
                    use.excludes($0) && FileName($0.path, style: $0.style)?.overlaps(name) == true
                }
            guard let other else { continue }
            let verb = use.access == .reads ? "read" : "write"
            return
                "\(use.user) would \(verb) \(use.name), which \(other.user) \(other.access == .reads ? "reads" : "writes"); name another file"
        }
        return nil
    }
}

extension Element {
    /// The files and URIs that the sources upstream of this element read, as their properties name them.
    var inputPlaces: [String] {
        upstreamSources.flatMap { source in
            ["location", "uri"].compactMap { try? source.property($0, as: String.self) }
        }
    }

    /// Whether a source upstream has a limit on its number of buffers (`num-buffers`).
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
            open += inputs.compactMap { $0.neighbor?.parent }
        }
        return sources
    }
}
