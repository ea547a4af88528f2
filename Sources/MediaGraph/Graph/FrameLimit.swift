import GStreamer

extension Graph {
    /// Ends the graph after exactly so many frames have come in at one place: the first `rawdatapipe` of the description,
    /// or else its first sink. That place gets end-of-stream behind the last of them and nothing more; everything else
    /// gets end-of-stream at the sources. Call it before the graph is started.
    ///
    /// Returns the name of the element that counts; throws `wrongUsage` when there is none.
    @discardableResult
    public func endAfter(frames count: UInt64) throws(GraphError) -> String {
        guard count > 0 else { throw .wrongUsage("a graph can't end after no frames") }
        guard let (element, pad) = countingPlace else {
            throw .wrongUsage("nothing counts frames: the graph has neither a rawdatapipe nor a sink")
        }
        pad.endStream(afterBuffers: count) { [weak self] in self?.requestEndOfStream() }
        return element.name
    }

    private var countingPlace: (element: Element, pad: Pad)? {
        let sinks = pipeline.sinks
        let inBins = pipeline.allElements.filter { $0.isSink && !sinks.contains($0) }
        let all = sinks + inBins
        let pipes = all.filter { $0.factoryName == RawDataPipeElement.declaration.factoryName }
        for element in pipes + all {
            if let pad = element.pads.first(where: { $0.direction == .sink && $0.isLinked }) { return (element, pad) }
        }
        return nil
    }
}
