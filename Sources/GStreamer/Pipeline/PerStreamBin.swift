import CGStreamer
import CGStreamerShims
import Synchronization

/// A bin that passes one stream through elements, which are made anew for each stream (STREAM_START) and each other kind of
/// media.
///
/// So the elements may be ones that take only one stream, such as `decodebin`. Their errors and EOS aren't passed upstream: if
/// they have failed, or there are none, buffers are dropped.
package final class PerStreamBin: Sendable {
    private struct State: Sendable {
        /// The elements, as a bin; `nil` before the first format and after a failure.
        var current: Element?
        /// Earlier elements that are still in the bin.
        var retired: [Element] = []
        /// Whether a stream has begun for which the elements haven't been made yet.
        var isNew = true
        /// The media type of the current format.
        var mediaType: String?

        mutating func retireCurrent() -> Element? {
            defer { current = nil }
            if let current { retired.append(current) }
            return current
        }
    }

    /// The bin, with the pads `sink` and `src`.
    package let bin: Element
    private let description: String
    private let sink: GhostPad
    private let source: GhostPad
    private let state = Mutex(State())
    private let retire: @Sendable (Element) -> Void

    /// Makes a bin for the elements of `description`. Pads that appear later, such as those of `decodebin`, may be anywhere in
    /// it.
    ///
    /// `retire` is called with elements that have been replaced, on the streaming thread. It has to pass them to
    /// ``remove(_:)``, from a thread on which a change of state may wait for other streaming threads.
    package init(
        _ name: String, parsing description: String, retire: @escaping @Sendable (Element) -> Void
    ) throws(GLibError) {
        _ = try Self.make(description)
        self.description = description
        self.retire = retire
        bin = Element(taking: UnsafeMutableRawPointer(gst_bin_new(name)!))
        sink = GhostPad(gst_ghost_pad_new_no_target("sink", GST_PAD_SINK)!)
        source = GhostPad(gst_ghost_pad_new_no_target("src", GST_PAD_SRC)!)
        // Otherwise elements that are waiting for data would keep the pipeline from starting.
        bin.configure("async-handling", to: true)
        installPadFunctions()
        for pad in [sink, source] { gst_element_add_pad(bin.element, pad.raw) }
    }

    /// Returns the elements as a bin with the pads `sink` and `src`.
    private static func make(_ description: String) throws(GLibError) -> Element {
        let (inlet, outlet) = ("filter_inlet", "filter_outlet")
        return try Element(
            parsing: "identity name=\(inlet) ! \(description) ! identity name=\(outlet)", inlet: inlet, outlet: outlet)
    }

    private func installPadFunctions() {
        gst_pad_set_event_function_full(
            sink.raw,
            { pad, parent, event in
                if let bin = WeakBin.value(pad!.pointee.chaindata) {
                    switch event!.pointee.type {
                    case GST_EVENT_STREAM_START: bin.state.withLock { $0.isNew = true }
                    case GST_EVENT_CAPS: bin.prepare(for: Caps(of: event!))
                    // A stream in the same format as the last one needn't announce it.
                    case GST_EVENT_SEGMENT: bin.prepare(for: nil)
                    default: break
                    }
                }
                return gst_pad_event_default(pad, parent, event)
            }, nil, nil)
        gst_pad_set_chain_function_full(
            sink.raw,
            { pad, parent, buffer in
                let flow = gst_proxy_pad_chain_default(pad, parent, buffer)
                // The elements have posted an error, or have ended by themselves.
                return flow == GST_FLOW_ERROR || flow == GST_FLOW_EOS ? GST_FLOW_OK : flow
            }, WeakBin.retained(self), WeakBin.release)
        // Without elements, upstream still answers for its latency: otherwise the whole pipeline would have none.
        gst_pad_set_query_function_full(
            source.raw,
            { pad, parent, query in
                if query!.pointee.type == GST_QUERY_LATENCY, let bin = WeakBin.value(pad!.pointee.querydata),
                    bin.state.withLock({ $0.current == nil })
                {
                    return gst_pad_peer_query(bin.sink.raw, query)
                }
                return gst_pad_query_default(pad, parent, query)
            }, WeakBin.retained(self), WeakBin.release)
    }

    /// The bin as pad functions know it.
    private final class WeakBin: Sendable {
        private struct Reference { weak var bin: PerStreamBin? }
        private let reference: Mutex<Reference>
        private init(_ bin: PerStreamBin) { reference = Mutex(Reference(bin: bin)) }

        static func retained(_ bin: PerStreamBin) -> gpointer { Unmanaged.passRetained(WeakBin(bin)).toOpaque() }
        static let release: GDestroyNotify = { Unmanaged<WeakBin>.fromOpaque($0!).release() }
        static func value(_ data: gpointer?) -> PerStreamBin? {
            Unmanaged<WeakBin>.fromOpaque(data!).takeUnretainedValue().reference.withLock { $0.bin }
        }
    }

    /// Makes new elements if a stream has begun, or if it goes on with another kind of media. `nil` means the current format.
    /// Called on the streaming thread before the elements get the event, so nothing is passing through them from upstream.
    private func prepare(for caps: Caps?) {
        let (isDue, old) = state.withLock { state -> (Bool, Element?) in
            let mediaType = caps?.mediaTypes.first ?? state.mediaType
            guard let mediaType, state.isNew || state.mediaType != mediaType else { return (false, nil) }
            (state.isNew, state.mediaType) = (false, mediaType)
            return (true, state.retireCurrent())
        }
        guard isDue else { return }
        if let old { retire(old) }
        // Can't fail: the description was parsed before.
        guard let new = try? Self.make(description) else { return }
        gst_bin_add(bin.raw.assumingMemoryBound(to: GstBin.self), new.element)
        state.withLock { $0.current = new }
        // Without the lock: an element that can't start posts an error, which may lead to `detach`.
        new.syncState()
        state.withLock { state in
            guard state.current == new else { return }
            source.setTarget(new.staticPad("src"))
            sink.setTarget(new.staticPad("sink"))
        }
        bin.postLatencyChanged()
    }

    /// Takes the elements out of the stream if `element`, which has failed, is one of them. Returns whether it is
    /// part of the current or retired elements. The stream is dropped until it begins anew.
    package func detach(ifContaining element: Element) -> Bool {
        let parts = Array(sequence(first: element, next: \.parent))
        let (isPart, failed) = state.withLock { state -> (Bool, Element?) in
            guard let current = state.current, parts.contains(current) else {
                return (parts.contains { state.retired.contains($0) }, nil)
            }
            return (true, takeOut(&state))
        }
        if let failed { retire(failed) }
        return isPart
    }

    /// Takes the elements out, so that they aren't started again with the pipeline. The next stream gets new ones.
    package func reset() {
        let old = state.withLock { state in
            state.isNew = true
            return takeOut(&state)
        }
        if let old { retire(old) }
    }

    /// Unlinks the current elements, and returns them.
    private func takeOut(_ state: inout State) -> Element? {
        sink.setTarget(nil)
        source.setTarget(nil)
        return state.retireCurrent()
    }

    /// Stops and removes elements that have been passed to `retire`. Waits for their streaming threads.
    package func remove(_ old: Element) {
        let isHere = state.withLock { state in
            defer { state.retired.removeAll { $0 == old } }
            return state.retired.contains(old)
        }
        guard isHere else { return }
        old.setStateLocked(true)
        old.setState(.null)
        gst_bin_remove(bin.raw.assumingMemoryBound(to: GstBin.self), old.element)
    }
}
