import GStreamer
import MediaGraphCore
import Synchronization

/// The branch to the pad `src`.
extension RawDataPipeElement {
    func removeBranch() {
        guard let branch = branch.withLock({ $0.take() }) else { return }
        branch.remove(from: self, sink, delivery.appSink)
        hasBranch.store(false, ordering: .releasing)
    }

    var hasSource: Bool { branch.withLock { $0?.source != nil } }

    /// Whether the frames of the pad `src` are converted like delivered ones.
    var convertsSource: Bool { settings.current.sourceFormat == .asDelivered && hasSource }

    /// Removes the element that converts the frames of `src`, after data flow has ended.
    func removeConverter() {
        guard let converter = branch.withLock({ $0?.takeConverter() }) else { return }
        remove(converter)
        branch.withLock { $0?.converterRemoved() }
    }

    /// Adds the element that converts the frames of `src`, if they are to be converted.
    func convertSource(for consumer: ConsumerHandle?) throws(MediaGraphError) {
        guard convertsSource else { return }
        let form = DeliveredFrames.Form(
            pipe: name, setup: delivery.setup, supported: consumer?.formats ?? [])
        guard let converter = DeliveredFrames.make(form) else {
            throw .allocationFailed(.init("\(name)'s converter"))
        }
        // Not under the lock: a handler of `element-added` may query the caps of the pads.
        add(converter)
        guard branch.withLock({ $0?.convert(by: converter) }) == true else {
            throw .internalError(.init("\(name)'s converter", actual: "can't be linked"))
        }
    }

    /// The answer to a CAPS query at `src`. It is asked before the element that converts the frames exists, which is only
    /// during a run, and before the handler exists that `handler` names.
    var answerToSourceCaps: GhostPad.Answer {
        let settings = settings.current
        guard settings.sourceFormat == .asDelivered else { return .forward }
        guard settings.format != .auto || isHandlerKnown else { return .caps(FrameCaps.systemMemory) }
        return .caps(DeliveredFrames.Form.caps(ownFormat, keepsAlpha: settings.allowsAlpha))
    }

    /// The answer to an ALLOCATION query. With `src`, the query is forwarded, so that the needs of both branches count. If
    /// the frames of `src` are converted, both need the same, but what is behind `src` may not understand strides.
    var answerToAllocation: GhostPad.Answer {
        guard hasSource else { return .understands([.video] + delivery.demand.sufficient) }
        return convertsSource ? .understands(delivery.demand.sufficient) : .forward
    }
}
