import CGStreamer
import Synchronization

/// Plays a part of what a pipeline's sources offer, from one position in the medium to another.
///
/// Each stream is held back where its times begin, which is behind a demuxer or a source that counts time, until that element has
/// been sent a seek. Nothing downstream, such as a muxer or a handler, receives data from outside of the range.
public final class MediaRange: Sendable {
    private struct State: Sendable {
        var held: [Pad: gulong] = [:]
        /// The elements that have been sent the seek, and whether it is through: pads that come later needn't wait.
        var sought: [Element: Bool] = [:]
        var watched: Set<Element> = []
    }

    private let start: ClockTime
    private let end: ClockTime?
    private let state = Mutex(State())
    private let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let refused: @Sendable (Element) -> Void

    /// - Parameters:
    ///   - enqueue: runs a closure on a thread that may block, and isn't a streaming thread.
    ///   - refused: an element can't seek. On that thread.
    public init(
        from start: ClockTime?, to end: ClockTime?,
        enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        refused: @escaping @Sendable (Element) -> Void
    ) {
        self.start = start ?? .zero
        self.end = end
        self.enqueue = enqueue
        self.refused = refused
    }

    /// Prepares a run, while the pipeline is in NULL.
    public func prepare(_ pipeline: Pipeline) {
        state.withLock { $0.sought = [:] }
        for element in pipeline.allElements where !element.isSink {
            for pad in element.pads where pad.direction == .source { hold(pad) }
            watchNewPads(of: element)
        }
    }

    private func watchNewPads(of element: Element) {
        guard state.withLock({ $0.watched.insert(element).inserted }) else { return }
        typealias Added = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, gpointer?) -> Void
        let added: Added = { _, pad, range in
            let pad = Pad(retaining: pad!)
            guard pad.direction == .source else { return }
            Unmanaged<MediaRange>.fromOpaque(range!)._withUnsafeGuaranteedRef { $0.hold(pad) }
        }
        g_signal_connect_data(
            element.raw, "pad-added", unsafeBitCast(added, to: GCallback.self), Unmanaged.passRetained(self).toOpaque(),
            { range, _ in Unmanaged<MediaRange>.fromOpaque(range!).release() }, GConnectFlags(rawValue: 0))
    }

    private func hold(_ pad: Pad) {
        let types =
            GST_PAD_PROBE_TYPE_BLOCK.rawValue | GST_PAD_PROBE_TYPE_BUFFER.rawValue
            | GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue
        state.withLock { state in
            guard state.held[pad] == nil else { return }
            state.held[pad] = gst_pad_add_probe(
                pad.pad, GstPadProbeType(rawValue: types),
                { pad, _, range in
                    Unmanaged<MediaRange>.fromOpaque(range!)._withUnsafeGuaranteedRef {
                        $0.reached(Pad(retaining: pad!))
                    }
                }, Unmanaged.passRetained(self).toOpaque(), { Unmanaged<MediaRange>.fromOpaque($0!).release() })
        }
    }

    /// The first buffer of a stream, on its thread.
    private func reached(_ pad: Pad) -> GstPadProbeReturn {
        // A file's bytes, which a demuxer gives times later.
        guard pad.countsTime, let element = pad.parent else { return GST_PAD_PROBE_PASS }
        // Its times are those of an element upstream, which has been sent the seek by now.
        let isFurtherOn = element.pads.contains { $0.direction == .sink && $0.countsTime }
        let isNew = state.withLock { state -> Bool? in
            guard !isFurtherOn else {
                state.held[pad] = nil
                return nil
            }
            switch state.sought[element] {
            case nil:
                state.sought[element] = false
                return true
            case false?: return false
            case true?:
                state.held[pad] = nil
                return nil
            }
        }
        guard let isNew else { return GST_PAD_PROBE_REMOVE }
        if isNew { enqueue { self.seek(element, by: pad) } }
        return GST_PAD_PROBE_OK
    }

    private func seek(_ element: Element, by pad: Pad) {
        // Streams that go on as they are can only begin at a key frame, and then all of them should.
        let isDecoded = element.pads.allSatisfy { $0.direction == .sink || !$0.isLinked || $0.isDecoded }
        let position =
            isDecoded
            ? GST_SEEK_FLAG_ACCURATE.rawValue : GST_SEEK_FLAG_KEY_UNIT.rawValue | GST_SEEK_FLAG_SNAP_BEFORE.rawValue
        let flags = GstSeekFlags(rawValue: GST_SEEK_FLAG_FLUSH.rawValue | position)
        let event = gst_event_new_seek(
            1, GST_FORMAT_TIME, flags, GST_SEEK_TYPE_SET, gint64(start.nanoseconds),
            end == nil ? GST_SEEK_TYPE_NONE : GST_SEEK_TYPE_SET, end.map { gint64($0.nanoseconds) } ?? -1)
        let hasSought = gst_pad_send_event(pad.pad, event) != 0
        if !hasSought { refused(element) }
        // Demuxers go on to the next key frame behind the end, for decoders, which clip what they get.
        if !isDecoded { for pad in element.pads where pad.direction == .source { pad.dropBuffersOutsideOfSegment() } }
        let pads = element.pads
        let probes = state.withLock { state in
            state.sought[element] = true
            return pads.compactMap { pad in state.held.removeValue(forKey: pad).map { (pad, $0) } }
        }
        for (pad, probe) in probes { gst_pad_remove_probe(pad.pad, probe) }
    }
}

extension Pad {
    /// The segment that passed it last is one of times, rather than of bytes.
    fileprivate var countsTime: Bool { Segment(passing: pad)?.raw.format == GST_FORMAT_TIME }

    /// Raw media leaves this source pad, or a decoder downstream makes it so.
    fileprivate var isDecoded: Bool {
        if currentCaps?.mediaTypes.allSatisfy({ $0.hasSuffix("/x-raw") }) == true { return true }
        var open = [self]
        var seen: Set<Pad> = []
        while let source = open.popLast() {
            guard seen.insert(source).inserted, let sink = source.neighbour, let element = sink.parent else { continue }
            let info = element.factoryName.flatMap(ElementFactoryInfo.find)
            if info?.classification.contains("Decoder") == true { return true }
            open += sink.internalLinks
        }
        return false
    }
}
