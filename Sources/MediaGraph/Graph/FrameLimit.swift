import GStreamer
import MediaGraphCore
import MediaGraphElements

/// A number of frames after which the graph ends, while it hasn't been reached.
struct FrameLimit: Sendable {
    /// The name of the element whose frames are counted.
    let element: String
    let count: UInt64
}

extension Graph {
    /// Ends the graph after exactly `count` frames have arrived at one element. Call this before the graph is started.
    ///
    /// That element is the first `rawdatapipe` of the description; if there is none, the first sink or the encoder that
    /// feeds it. It receives end-of-stream after the last of these frames. The other branches end when the sources do,
    /// which are then asked to end; muxers and other sinks drop buffers that begin after the end of the last frame.
    ///
    /// Returns the name of the element whose frames are counted. Throws `wrongUsage` if the graph has no such element,
    /// or `count` is 0.
    @discardableResult
    public func endAfter(frames count: UInt64) throws(GraphError) -> String {
        guard count > 0 else { throw .wrongUsage("the frame limit must be at least 1") }
        guard let (element, pad) = countingPlace else {
            throw .wrongUsage("nothing counts frames: the graph has neither a rawdatapipe nor a sink")
        }
        frameLimit.withLock { $0 = FrameLimit(element: element.name, count: count) }
        pad.endStream(afterBuffers: count) { [weak self] end in
            self?.frameLimit.withLock { $0 = nil }
            // Before the last frame is passed on, because a muxer may take later audio together with it.
            if let end { self?.leaveOut(from: end) }
        } didEnd: { [weak self] in
            self?.requestEndOfStream()
        }
        return element.name
    }

    /// Drops buffers that begin after `end`, such as audio that was read ahead and would outlast the video.
    private func leaveOut(from end: ClockTime) {
        for element in pipeline.allElements where element.isMuxer || element.isSink && !element.isBin {
            for pad in element.pads where pad.direction == .sink { pad.dropBuffers(from: end) }
        }
    }

    /// The element and pad at which frames are counted; `nil` if there is none.
    private var countingPlace: (element: Element, pad: Pad)? {
        let sinks = pipeline.sinks
        let inBins = pipeline.allElements.filter { $0.isSink && !sinks.contains($0) }
        let all = sinks + inBins
        let pipes = all.filter { $0.factoryName == NodeName.rawDataPipe }
        for element in pipes + all {
            // A pad that isn't linked yet may be downstream of a demuxer, which adds its pads when data arrives.
            let inputs = element.pads.filter { $0.direction == .sink }
            guard let pad = inputs.first(where: \.isLinked) ?? inputs.first else { continue }
            guard !pipes.contains(element) else { return (element, pad) }
            let counting = Self.frames(before: pad)
            return (counting.parent ?? element, counting)
        }
        return nil
    }

    /// Returns the pad upstream of `sink` where the data is still frames, before encoders and muxers. Counting their
    /// output buffers instead would cut the file short.
    private static func frames(before sink: Pad) -> Pad {
        var (counting, pad) = (sink, sink)
        // Follows the only way upstream. Bounded, in case the links form a loop.
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
