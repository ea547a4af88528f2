import GStreamer
import Synchronization

/// Counts the buffers that arrive at a graph's stock sinks, whose own statistics restart with each segment, and detects
/// losses that elements don't report themselves. The counts restart with each run.
final class StreamWatch: Sendable {
    private struct Decoder: Sendable {
        let received: BufferCounter
        let decoded: BufferCounter
        /// Pictures that the decoder left out because they would have been late.
        var skipped: UInt64 = 0
    }

    private struct Demuxer: Sendable {
        let input: InputExtent
        /// Watches for pads that are added later.
        var observer: PadObserver?
        var streams: [Pad: StreamExtent] = [:]
    }

    private struct State: Sendable {
        var isRunning = false
        var sinks: [Pad: BufferCounter] = [:]
        var decoders: [Element: Decoder] = [:]
        var demuxers: [Element: Demuxer] = [:]
        var sources: [Element: SilenceDetector] = [:]
    }

    private let state = Mutex(State())

    /// Resets all counts and starts watching. Called before a run.
    func begin(in pipeline: Pipeline) {
        state.withLock { state in
            state.isRunning = true
            for counter in state.sinks.values { counter.reset() }
            for (element, decoder) in state.decoders {
                decoder.received.reset()
                decoder.decoded.reset()
                state.decoders[element]?.skipped = 0
            }
            for demuxer in state.demuxers.values {
                demuxer.input.reset()
                for stream in demuxer.streams.values { stream.reset() }
            }
            for detector in state.sources.values { detector.reset() }
        }
        for element in pipeline.allElements { watch(element) }
    }

    /// Starts watching an element that is added while the graph runs, for example by `autovideosink`.
    func watchAdded(_ element: Element) {
        if state.withLock({ $0.isRunning }) { watch(element) }
    }

    /// Starts watching an element, unless it is already watched.
    private func watch(_ element: Element) {
        guard !element.isBin else { return }
        if element.isSink { return watchSink(element) }
        guard let info = element.factoryName.flatMap(ElementFactoryInfo.find) else { return }
        if info.isAudioDevice, let pad = element.staticPad("src") {
            state.withLock { state in
                if state.sources[element] == nil { state.sources[element] = pad.detectSilence() }
            }
        } else if info.decodesPictures, let sink = element.staticPad("sink"), let source = element.staticPad("src") {
            state.withLock { state in
                guard state.decoders[element] == nil else { return }
                state.decoders[element] = Decoder(
                    received: sink.countBuffersInSegment(), decoded: source.countBuffers())
            }
        } else if info.classification.contains("Demuxer"), let sink = element.staticPad("sink") {
            watchDemuxer(element, sink)
        }
    }

    private func watchSink(_ element: Element) {
        for pad in element.pads where pad.direction == .sink {
            state.withLock { state in
                if state.sinks[pad] == nil { state.sinks[pad] = pad.countBuffers() }
            }
        }
    }

    private func watchDemuxer(_ element: Element, _ sink: Pad) {
        let isNew = state.withLock { state in
            guard state.demuxers[element] == nil else { return false }
            state.demuxers[element] = Demuxer(input: sink.measureInput())
            return true
        }
        guard isNew else { return }
        let measure = { @Sendable [weak self] (pad: Pad) in
            guard pad.direction == .source else { return }
            self?.state.withLock { $0.demuxers[element]?.streams[pad] = pad.measureStream() }
        }
        for pad in element.pads { measure(pad) }
        let observer = PadObserver(of: element, measure)
        state.withLock { $0.demuxers[element]?.observer = observer }
    }

    /// Records that a decoder has left out a late picture.
    func skips(in decoder: Element) { state.withLock { $0.decoders[decoder]?.skipped += 1 } }

    /// Returns the number of buffers that have arrived at all pads of a sink; `nil` if the element isn't a watched
    /// sink.
    func count(of sink: Element) -> UInt64? {
        let pads = sink.pads
        return state.withLock { state in
            let counts = pads.compactMap { state.sinks[$0]?.count }
            return counts.isEmpty ? nil : counts.reduce(0, +)
        }
    }

    /// Stops watching after a run, and forgets elements that no longer exist.
    func end(in pipeline: Pipeline) {
        let elements = Set(pipeline.allElements)
        let pads = Set(elements.flatMap(\.pads))
        let gone = state.withLock { state in
            state.isRunning = false
            let gone = state.demuxers.filter { !elements.contains($0.key) }
            state.sinks = state.sinks.filter { pads.contains($0.key) }
            state.decoders = state.decoders.filter { elements.contains($0.key) }
            state.sources = state.sources.filter { elements.contains($0.key) }
            state.demuxers = state.demuxers.filter { elements.contains($0.key) }.mapValues { demuxer in
                var demuxer = demuxer
                demuxer.streams = demuxer.streams.filter { pads.contains($0.key) }
                return demuxer
            }
            return gone
        }
        for demuxer in gone.values { demuxer.observer?.stop() }
    }
}

extension StreamWatch {
    /// Returns silent sources, and decoders that couldn't decode pictures. `name` returns the name that the description
    /// uses for an element.
    func losses(of pipeline: Pipeline, name: (Element) -> String) -> [StreamLoss] {
        let elements = pipeline.allElements
        let (sources, decoders) = state.withLock { ($0.sources, $0.decoders) }
        return elements.compactMap { element in
            if sources[element]?.isSilent == true { return .silence(source: name(element)) }
            guard let decoder = decoders[element], element.receivesWholePictures,
                element.staticPad("src")?.hasEnded == true
            else { return nil }
            let (received, shown) = (decoder.received.count, decoder.decoded.count + decoder.skipped)
            guard received > shown else { return nil }
            return .undecodablePictures(decoder: name(element), count: received - shown, of: received)
        }
    }

    /// Returns inputs that were read to their end and are shorter than they declare.
    func truncations(of pipeline: Pipeline) -> [StreamLoss] {
        let demuxers = state.withLock { $0.demuxers }
        return pipeline.allElements.compactMap { element in
            guard let demuxer = demuxers[element], element.staticPad("sink").map(demuxer.input.hasReachedEnd) == true,
                demuxer.streams.values.allSatisfy(\.isTimed),
                let end = demuxer.streams.values.compactMap(\.end).max(), let duration = element.duration,
                !element.hasLimitedInput, ClockTime.zero + duration > end,
                duration.seconds - end.seconds > max(0.25, 0.02 * duration.seconds)
            else { return nil }
            return .truncatedInput(element.inputPlaces.first, end: end, duration: duration)
        }
    }
}

extension Element {
    /// Whether each buffer holds one picture, rather than an arbitrary piece of a file.
    fileprivate var receivesWholePictures: Bool {
        guard let picture = staticPad("sink")?.currentCaps?[0] else { return false }
        return picture["parsed"] == true || (picture["framerate", as: Fraction.self]?.numerator ?? 0) > 0
    }
}

extension ElementFactoryInfo {
    /// Whether the element captures audio from a device or server. Silence from a test source or from a node's handler
    /// is intended.
    fileprivate var isAudioDevice: Bool {
        classification.contains("Source/Audio") && name != "audiotestsrc" && !Nodes.factoryNames.contains(name)
    }

    /// Whether the element decodes images, such as JPEG, of which each buffer holds one. Buffers of video codecs may
    /// hold none.
    fileprivate var decodesPictures: Bool {
        guard classification.contains("Decoder") else { return false }
        let inputs = padTemplates.filter { $0.direction == .sink }.flatMap { $0.caps.mediaTypes }
        return !inputs.isEmpty && inputs.allSatisfy { $0.hasPrefix("image/") }
    }
}
