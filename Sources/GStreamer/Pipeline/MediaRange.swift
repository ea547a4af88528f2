import CGStreamer
import Synchronization

/// Plays a range of a pipeline's input, between two positions in the medium.
///
/// Each stream is blocked at the first element that sends timestamps, such as a demuxer, until that element has handled
/// a seek. So no element downstream, such as a muxer or a handler, receives data from outside of the range.
package final class MediaRange: Sendable {
    private struct State: Sendable {
        var isOver = false
        /// Pads whose first buffer waits for the seek.
        var held: [Pad: PadProbe] = [:]
        var seeks: [Element: Seek] = [:]
        var cuts: [PadProbe] = []
        var observers: [PadObserver] = []
    }

    /// The reason why the range of an element's stream can't be played.
    package enum Refusal: Sendable {
        /// The element rejected the seek.
        case cantSeek
        /// The element is `mpegpsdemux`. It finds its streams one by one, anywhere in the file, so a seek at the first
        /// stream would lose the others.
        case programStream
        /// The stream ends before the range begins.
        case isPastEnd(duration: Duration)
    }

    private enum Seek: Sendable {
        /// The seek waits to be executed by the thread of `enqueue`.
        case queued
        /// The seek is being executed.
        case underWay(isDecoded: Bool)
        /// The element has handled the seek; pads that are added later don't wait.
        case done(isDecoded: Bool)

        /// Whether the element's streams stay encoded downstream, and so must be cut to the range.
        var cuts: Bool {
            switch self {
            case .queued: false
            case .underWay(let isDecoded), .done(let isDecoded): !isDecoded
            }
        }
    }

    private let start: ClockTime
    private let end: ClockTime?
    private let state = Mutex(State())
    private let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let refused: @Sendable (Element, Refusal) -> Void

    /// Attaches the range to a pipeline in NULL. The pipeline's elements retain it until `stop()`.
    ///
    /// - Parameters:
    ///   - start: the beginning of the range, in stream time; `nil` is the beginning of the medium.
    ///   - end: the end of the range, in stream time; `nil` is the end of the medium.
    ///   - enqueue: runs a closure on a thread that may block and that isn't a streaming thread.
    ///   - refused: called on that thread if the range of an element's stream can't be played.
    package init(
        in pipeline: Pipeline, from start: ClockTime?, to end: ClockTime?,
        enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        refused: @escaping @Sendable (Element, Refusal) -> Void
    ) {
        self.start = start ?? .zero
        self.end = end
        self.enqueue = enqueue
        self.refused = refused
        // Seek a decoding bin at its own pads: a flush inside of it could reach decoders that are still being plugged.
        for element in pipeline.allElements where !element.isSink && !element.isInDecoder {
            for pad in element.pads { hold(pad, of: element) }
            let observer = PadObserver(of: element) { [self] pad in hold(pad, of: element) }
            state.withLock { $0.observers.append(observer) }
        }
    }

    /// Removes the probes. Call it once the pipeline is in NULL, and not concurrently with an enqueued closure.
    package func stop() {
        let state = state.withLock { state in
            defer { state = State(isOver: true) }
            return state
        }
        for observer in state.observers { observer.stop() }
        for probe in Array(state.held.values) + state.cuts { probe.remove() }
    }

    private func hold(_ pad: Pad, of element: Element) {
        guard pad.direction == .source else { return }
        state.withLock { state in
            guard !state.isOver, state.held[pad] == nil else { return }
            let seek = state.seeks[element]
            if seek?.cuts == true { state.cuts.append(pad.cutToSegment()) }
            if case .done = seek { return }
            state.held[pad] = pad.addProbe(
                GST_PAD_PROBE_TYPE_BLOCK, GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, holding: self
            ) { pad, _, range in
                Unmanaged<MediaRange>.fromOpaque(range!)._withUnsafeGuaranteedRef {
                    $0.reached(Pad(retaining: pad!))
                }
            }
        }
    }

    /// Called on the streaming thread with the first buffer of a stream, and decides whether the stream waits for a
    /// seek.
    private func reached(_ pad: Pad) -> GstPadProbeReturn {
        // The stream is a file's bytes. A demuxer downstream adds timestamps.
        guard pad.hasTimeSegment, let element = pad.parent else { return GST_PAD_PROBE_PASS }
        // The timestamps come from an element upstream, which has already handled the seek.
        let isBehindTimedElement = element.pads.contains { $0.direction == .sink && $0.hasTimeSegment }
        return state.withLock { state in
            // The same applies to a bin's pad if an element inside of the bin has handled the seek.
            let isSeekHandled = isBehindTimedElement || state.seeks.keys.contains { $0.ancestors.contains(element) }
            switch isSeekHandled ? .done(isDecoded: true) : state.seeks[element] {
            case nil:
                state.seeks[element] = .queued
                enqueue { self.seek(element, by: pad) }
                return GST_PAD_PROBE_OK
            case .queued, .underWay: return GST_PAD_PROBE_OK
            case .done:
                // If the probe is gone from `held`, `seek` removes it.
                return state.held.removeValue(forKey: pad) == nil ? GST_PAD_PROBE_PASS : GST_PAD_PROBE_REMOVE
            }
        }
    }

    private func seek(_ element: Element, by pad: Pad) {
        guard state.withLock({ !$0.isOver }) else { return }
        if element.factoryName == "mpegpsdemux" { return refused(element, .programStream) }
        if let duration = element.duration, duration > .zero, ClockTime.zero + duration <= start {
            return refused(element, .isPastEnd(duration: duration))
        }
        // An encoded stream can only begin at a key frame. All streams of the element should then begin there.
        let isDecoded = element.pads.allSatisfy { $0.direction == .sink || !$0.isLinked || $0.isDecoded }
        state.withLock { state in
            state.seeks[element] = .underWay(isDecoded: isDecoded)
            guard !isDecoded else { return }
            for pad in state.held.keys where pad.parent == element { state.cuts.append(pad.cutToSegment()) }
        }
        let position =
            isDecoded
            ? GST_SEEK_FLAG_ACCURATE.rawValue : GST_SEEK_FLAG_KEY_UNIT.rawValue | GST_SEEK_FLAG_SNAP_BEFORE.rawValue
        let flags = GstSeekFlags(rawValue: GST_SEEK_FLAG_FLUSH.rawValue | position)
        let event = gst_event_new_seek(
            1, GST_FORMAT_TIME, flags, GST_SEEK_TYPE_SET, gint64(start.nanoseconds),
            end == nil ? GST_SEEK_TYPE_NONE : GST_SEEK_TYPE_SET, end.map { gint64($0.nanoseconds) } ?? -1)
        // Drop the flush at these pads, because no data has passed them. A mixer downstream would stop for it, and wait
        // for a flush at each of its inputs.
        let probes = element.pads.filter { $0.direction == .source }.map { $0.dropFlushes() }
        if gst_pad_send_event(pad.pad, event) == 0 { refused(element, .cantSeek) }
        for probe in probes { probe.remove() }
        let passing = state.withLock { state in
            state.seeks[element] = .done(isDecoded: isDecoded)
            let waiting = state.held.keys.filter { $0.parent == element }
            return waiting.compactMap { state.held.removeValue(forKey: $0) }
        }
        for probe in passing { probe.remove() }
    }
}

extension Element {
    fileprivate var isInDecoder: Bool { ancestors.contains { $0.isDecoder } }

    /// Whether the element is a decoder, or a bin with decoders.
    package var isDecoder: Bool {
        factoryName.flatMap(ElementFactoryInfo.find)?.classification.contains("Decoder") == true
    }
}

extension Pad {
    /// Whether the last segment at the pad is in time rather than in bytes.
    fileprivate var hasTimeSegment: Bool { Segment(passing: pad)?.raw.format == GST_FORMAT_TIME }

    /// Drops flush events at the pad until the probe is removed.
    fileprivate func dropFlushes() -> PadProbe {
        let probe = gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_FLUSH, { _, _, _ in GST_PAD_PROBE_DROP }, nil, nil)
        return PadProbe(pad: self, id: probe)
    }

    /// Whether the stream at this source pad is raw media, or is decoded downstream.
    fileprivate var isDecoded: Bool {
        if let currentCaps {
            if currentCaps.mediaTypes.allSatisfy({ $0.hasSuffix("/x-raw") }) { return true }
        } else if parent?.isDecoder == true {
            // The decoder's output caps aren't known yet.
            return true
        }
        var open = [self]
        var seen: Set<Pad> = []
        while let source = open.popLast() {
            guard seen.insert(source).inserted, let sink = source.neighbor, let element = sink.parent else { continue }
            if element.isDecoder { return true }
            open += sink.internalLinks
        }
        return false
    }
}
