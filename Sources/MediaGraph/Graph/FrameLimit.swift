import GStreamer
import MediaGraphCore
import MediaGraphElements

/// An end after so many frames that hasn't come yet.
struct FrameLimit: Sendable {
    /// The name of the element that counts.
    let element: String
    let count: UInt64
}

extension Graph {
    /// Ends the graph after exactly so many frames have come in at one place: the first `rawdatapipe` of the description,
    /// or else its first sink, or what encodes for that sink. That place gets end-of-stream behind the last of them and
    /// nothing more; everything else gets end-of-stream at the sources. What muxers and other sinks haven't received by then
    /// is left out where it begins after the end of the last frame. Call it before the graph is started.
    ///
    /// Returns the name of the element that counts; throws `wrongUsage` when there is none.
    @discardableResult
    public func endAfter(frames count: UInt64) throws(GraphError) -> String {
        guard count > 0 else { throw .wrongUsage("the frame limit must be at least 1") }
        guard let (element, pad) = countingPlace else {
            throw .wrongUsage("nothing counts frames: the graph has neither a rawdatapipe nor a sink")
        }
        frameLimit.withLock { $0 = FrameLimit(element: element.name, count: count) }
        pad.endStream(afterBuffers: count) { [weak self] end in
            self?.frameLimit.withLock { $0 = nil }
            // Before the last frame goes on: with it, a muxer may take the sound of what follows.
            if let end { self?.leaveOut(from: end) }
        } didEnd: { [weak self] in
            self?.requestEndOfStream()
        }
        return element.name
    }

    /// Sound that was read ahead of the last frame would outlast the picture.
    private func leaveOut(from end: ClockTime) {
        for element in pipeline.allElements where element.isMuxer || element.isSink && !element.isBin {
            for pad in element.pads where pad.direction == .sink { pad.dropBuffers(from: end) }
        }
    }

    private var countingPlace: (element: Element, pad: Pad)? {
        let sinks = pipeline.sinks
        let inBins = pipeline.allElements.filter { $0.isSink && !sinks.contains($0) }
        let all = sinks + inBins
        let pipes = all.filter { $0.factoryName == NodeName.rawDataPipe }
        for element in pipes + all {
            // One that isn't linked yet is behind a demuxer, say, whose pads come with the data.
            let inputs = element.pads.filter { $0.direction == .sink }
            guard let pad = inputs.first(where: \.isLinked) ?? inputs.first else { continue }
            guard !pipes.contains(element) else { return (element, pad) }
            let counting = Self.frames(before: pad)
            return (counting.parent ?? element, counting)
        }
        return nil
    }

    /// Where what comes to this pad was still frames: before the encoder and the multiplexer, whose file would be cut short
    /// behind so many of its pieces.
    private static func frames(before sink: Pad) -> Pad {
        var (counting, pad) = (sink, sink)
        // Upstream, as long as there is one way; a loop ends too.
        for _ in 0..<1000 {
            guard let feeder = pad.peer?.parent else { break }
            let sinks = feeder.pads.filter { $0.direction == .sink && $0.isLinked }
            let kind = feeder.factoryName.flatMap(ElementFactoryInfo.find)?.classification ?? ""
            let makesPieces = kind.contains("Muxer") || kind.contains("Encoder")
            guard let next = sinks.first, makesPieces || sinks.count == 1 else { break }
            if makesPieces { counting = next }
            pad = next
        }
        return counting
    }
}
