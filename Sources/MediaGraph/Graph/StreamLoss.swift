import GStreamer
import Synchronization

/// Data that came to nothing while the graph ran on.
public enum StreamLoss: Sendable, Hashable, CustomStringConvertible {
    /// A picture decoder received data that holds no picture.
    case undecodablePictures(decoder: String, count: UInt64, of: UInt64)
    /// A device or server delivered nothing but digital silence.
    case silence(source: String)
    /// The input ended before the duration that it declares: a file that was cut, say.
    case truncatedInput(end: ClockTime, duration: ClockTime)

    public var description: String {
        switch self {
        case .undecodablePictures(let decoder, let count, let total):
            "\(decoder) could not decode \(count) of \(total) pictures"
        case .silence(let source):
            "\(source) was silent throughout; is it the right device, and not muted? `mediagraph devices` lists them"
        case .truncatedInput(let end, let duration):
            "the input ends at \(Self.text(end)) s, but declares a duration of \(Self.text(duration)) s; the file may be "
                + "truncated"
        }
    }

    private static func text(_ time: ClockTime) -> String {
        let hundredths = Int((time.seconds * 100).rounded())
        let decimals = String(100 + hundredths % 100).dropFirst()
        return "\(hundredths / 100).\(decimals)"
    }
}

extension Graph {
    /// What has come to nothing so far. Ask when the graph has ended, before it is stopped.
    public var streamLosses: [StreamLoss] {
        var losses = streamWatch.losses(of: pipeline) { owner(of: $0).name }
        if let truncated = truncatedInput { losses.append(truncated) }
        return losses
    }

    /// Where the streams have ended by themselves.
    private var truncatedInput: StreamLoss? {
        guard state.withLock({ $0.hasEndedByItself }), mediaRange.withLock({ $0 == nil }), !hasUnusedStream,
            let position,
            let duration, duration > position
        else { return nil }
        let missing = duration.seconds - position.seconds
        guard missing > max(0.25, 0.02 * duration.seconds) else { return nil }
        return .truncatedInput(end: position, duration: duration)
    }

    /// A stream that isn't linked counts for the duration, and may be longer than the others.
    private var hasUnusedStream: Bool {
        pipeline.allElements.contains { element in
            let info = element.factoryName.flatMap(ElementFactoryInfo.find)
            guard info?.padTemplates.contains(where: { $0.direction == .source && $0.presence == .sometimes }) == true
            else { return false }
            return element.pads.contains { $0.direction == .source && !$0.isLinked }
        }
    }
}

/// Watches the streams of a graph for what gets lost in elements that don't report it themselves.
final class StreamWatch: Sendable {
    private struct State: Sendable {
        var decoders: [Element: (received: BufferCounter, decoded: BufferCounter)] = [:]
        var sources: [Element: SilenceDetector] = [:]
    }

    private let state = Mutex(State())

    /// Before a run: forgets what the last one found.
    func begin(in pipeline: Pipeline) {
        state.withLock { state in
            for counters in state.decoders.values {
                counters.received.reset()
                counters.decoded.reset()
            }
            for detector in state.sources.values { detector.reset() }
        }
        for element in pipeline.allElements { watch(element) }
    }

    /// Again for one that is watched: nothing.
    func watch(_ element: Element) {
        guard !element.isBin, let info = element.factoryName.flatMap(ElementFactoryInfo.find) else { return }
        if info.isAudioDevice, let pad = element.staticPad("src") {
            state.withLock { state in
                if state.sources[element] == nil { state.sources[element] = pad.detectSilence() }
            }
        } else if info.decodesPictures, let sink = element.staticPad("sink"), let source = element.staticPad("src") {
            state.withLock { state in
                guard state.decoders[element] == nil else { return }
                state.decoders[element] = (sink.countBuffers(), source.countBuffers())
            }
        }
    }

    /// `name` gives the name that a description knows an element by.
    func losses(of pipeline: Pipeline, name: (Element) -> String) -> [StreamLoss] {
        let elements = pipeline.allElements
        let found = state.withLock { state in
            elements.compactMap { element -> (Element, UInt64, UInt64)? in
                if state.sources[element]?.isSilent == true { return (element, 0, 0) }
                guard let counters = state.decoders[element], element.receivesWholePictures else { return nil }
                let (received, decoded) = (counters.received.count, counters.decoded.count)
                return received > decoded ? (element, received - decoded, received) : nil
            }
        }
        return found.map { element, lost, total in
            let name = name(element)
            return total == 0
                ? .silence(source: name) : .undecodablePictures(decoder: name, count: lost, of: total)
        }
    }

    /// After a run, which may have made elements that are gone now.
    func end(in pipeline: Pipeline) {
        let elements = Set(pipeline.allElements)
        state.withLock { state in
            state.decoders = state.decoders.filter { elements.contains($0.key) }
            state.sources = state.sources.filter { elements.contains($0.key) }
        }
    }
}

extension Element {
    /// Rather than a file's bytes as they are read.
    fileprivate var receivesWholePictures: Bool {
        guard let picture = staticPad("sink")?.currentCaps?[0] else { return false }
        return picture["parsed"] == true || (picture["framerate", as: Fraction.self]?.numerator ?? 0) > 0
    }
}

extension ElementFactoryInfo {
    /// Silence of a test source, or of a node's handler, is what its user asked for.
    fileprivate var isAudioDevice: Bool {
        classification.contains("Source/Audio") && name != "audiotestsrc" && !Nodes.factoryNames.contains(name)
    }

    /// Each buffer that such a decoder receives may be a picture; of other codecs some carry none.
    fileprivate var decodesPictures: Bool {
        guard classification.contains("Decoder") else { return false }
        let inputs = padTemplates.filter { $0.direction == .sink }.flatMap { $0.caps.mediaTypes }
        return !inputs.isEmpty && inputs.allSatisfy { $0.hasPrefix("image/") }
    }
}
