import CGStreamer
import Synchronization

/// Counts the buffers that arrive at a sink pad, including each buffer of a list. Thread-safe.
package final class BufferCounter: Sendable {
    private let counted = Atomic<UInt64>(0)

    /// The number of buffers since counting started, or since the last `reset`.
    package var count: UInt64 { counted.load(ordering: .relaxed) }

    /// Sets the count to zero.
    package func reset() { counted.store(0, ordering: .relaxed) }

    fileprivate func add(_ count: UInt64) { counted.wrappingAdd(count, ordering: .relaxed) }
}

extension Pad {
    /// Starts counting this sink pad's buffers, before the element handles them. Counting ends when the pad is freed,
    /// or when the element sets other chain functions, which none of GStreamer's sinks does after it has been created.
    package func countBuffers() -> BufferCounter {
        let counter = BufferCounter()
        if !CountingChain.install(counter, on: pad) { countByProbe(counter) }
        return counter
    }

    private func countByProbe(_ counter: BufferCounter) {
        addProbe(GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, holding: counter) { _, info, context in
            let isList = info!.pointee.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0
            let count = isList ? UInt64(gst_buffer_list_length(OpaquePointer(info!.pointee.data))) : 1
            Unmanaged<BufferCounter>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.add(count) }
            return GST_PAD_PROBE_OK
        }
    }

    /// Starts counting the buffers that begin inside of the segment; a decoder outputs no others. Counting ends when
    /// the pad is freed.
    package func countBuffersInSegment() -> BufferCounter {
        let counter = BufferCounter()
        addProbe(GST_PAD_PROBE_TYPE_BUFFER, holding: counter) { pad, info, context in
            let begin = info!.pointee.data.assumingMemoryBound(to: GstBuffer.self).pointee.pts
            if begin == .max || Segment(passing: pad!)?.containsTimestamp(begin) == true {
                Unmanaged<BufferCounter>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.add(1) }
            }
            return GST_PAD_PROBE_OK
        }
        return counter
    }

    /// Drops all buffers that leave by this source pad from now on. The element still gets `GST_FLOW_OK`.
    package func discardBuffers() {
        let types = GST_PAD_PROBE_TYPE_BUFFER.rawValue | GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue
        gst_pad_add_probe(pad, GstPadProbeType(rawValue: types), { _, _, _ in GST_PAD_PROBE_DROP }, nil, nil)
    }

    /// Drops the buffers that leave by this source pad until `isDiscarding` returns false. `isDiscarding` is called
    /// before each buffer, on the streaming thread, with the pad's element. The element still gets `GST_FLOW_OK`.
    package func discardBuffers(while isDiscarding: @escaping @Sendable (Element) -> Bool) {
        addProbe(
            GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, holding: DiscardCondition(isDiscarding)
        ) { pad, _, condition in
            let condition = Unmanaged<DiscardCondition>.fromOpaque(condition!).takeUnretainedValue()
            guard let element = Pad(retaining: pad!).parent, condition.isDiscarding(element) else {
                return GST_PAD_PROBE_REMOVE
            }
            return GST_PAD_PROBE_DROP
        }
    }
}

private final class DiscardCondition: Sendable {
    let isDiscarding: @Sendable (Element) -> Bool
    init(_ isDiscarding: @escaping @Sendable (Element) -> Bool) { self.isDiscarding = isDiscarding }
}

/// Replaces a sink pad's chain functions with functions that count the buffers and then call the original ones. A probe
/// would cost about 600 instructions per buffer, because a pad with a probe searches its list of probes three times.
private final class CountingChain {
    private let counter: BufferCounter
    private let chain: GstPadChainFunction
    private let chainList: GstPadChainListFunction

    private init(
        _ counter: BufferCounter, _ chain: @escaping GstPadChainFunction, _ list: @escaping GstPadChainListFunction
    ) {
        self.counter = counter
        self.chain = chain
        chainList = list
    }

    /// The address of the default chain-list function, which calls the chain function for each buffer.
    private static let defaultChainList: UInt? = {
        guard let pad = gst_pad_new(nil, GST_PAD_SINK) else { return nil }
        defer { gst_object_unref(pad) }
        return address(pad.pointee.chainlistfunc)
    }()

    private static func address(_ function: GstPadChainListFunction?) -> UInt? {
        function.map { unsafeBitCast($0, to: UInt.self) }
    }

    private static func mayPull(_ pad: UnsafeMutablePointer<GstPad>) -> Bool {
        guard let element = Pad(retaining: pad).parent else { return true }
        return (try? element.property("can-activate-pull", as: Bool.self)) ?? false
    }

    /// Replaces the chain functions of `pad`. Returns false and does nothing if the buffers don't arrive through chain
    /// functions (source pads, and sinks that may pull), if the functions have data of their own, or if the pad is
    /// active, because data may flow now.
    static func install(_ counter: BufferCounter, on pad: UnsafeMutablePointer<GstPad>) -> Bool {
        guard let chain = pad.pointee.chainfunc, let list = pad.pointee.chainlistfunc, pad.pointee.chaindata == nil,
            pad.pointee.chainlistdata == nil, pad.pointee.mode == GST_PAD_MODE_NONE, !mayPull(pad)
        else { return false }
        func retainedChain() -> UnsafeMutableRawPointer {
            Unmanaged.passRetained(CountingChain(counter, chain, list)).toOpaque()
        }
        let release: GDestroyNotify = { Unmanaged<CountingChain>.fromOpaque($0!).release() }
        gst_pad_set_chain_function_full(
            pad,
            { pad, parent, buffer in
                Unmanaged<CountingChain>.fromOpaque(pad!.pointee.chaindata)._withUnsafeGuaranteedRef {
                    $0.counter.add(1)
                    return $0.chain(pad, parent, buffer)
                }
            }, retainedChain(), release)
        guard address(list) != defaultChainList else { return true }
        gst_pad_set_chain_list_function_full(
            pad,
            { pad, parent, list in
                Unmanaged<CountingChain>.fromOpaque(pad!.pointee.chainlistdata)._withUnsafeGuaranteedRef {
                    $0.counter.add(UInt64(gst_buffer_list_length(list)))
                    return $0.chainList(pad, parent, list)
                }
            }, retainedChain(), release)
        return true
    }
}
