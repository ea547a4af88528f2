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

    /// Changes the branch while nobody else does: in a state change. Not under the lock, because adding an element to the
    /// bin may run other code, which may query the pads.
    func changeBranch(_ body: (inout RenderBranch) -> Void) {
        guard var changed = branch.withLock({ $0 }) else { return }
        body(&changed)
        branch.withLock { $0 = changed }
    }

    /// Adds the element that converts the frames of `src`, if they are to be converted.
    func convertSource(for consumer: ConsumerHandle?) throws(MediaGraphError) {
        guard convertsSource else { return }
        let form = DeliveredFrames.Form(
            pipe: name, setup: delivery.setup, supported: consumer?.formats ?? [])
        guard let converter = DeliveredFrames.make(form) else {
            throw .allocationFailed(.init("\(name)'s converter"))
        }
        var isLinked = false
        changeBranch { isLinked = $0.convert(by: converter, in: self) }
        guard isLinked else { throw .internalError(.init("\(name)'s converter", actual: "can't be linked")) }
    }

    /// The answer to a CAPS query at `src`. The frames' format is known before the element that converts them exists, which
    /// is only during a run.
    var answerToSourceCaps: GhostPad.Answer {
        guard settings.current.sourceFormat == .asDelivered else { return .forward }
        let format = ownFormat
        let mayHaveAlpha = format == .a420 || format == .i420 && settings.current.format == .auto
        return .caps(FrameCaps.of(formats: mayHaveAlpha ? [.i420, .a420] : [format]))
    }

    /// The answer to an ALLOCATION query. With `src`, the query is forwarded, so that the needs of both branches count,
    /// unless both need the same.
    var answerToAllocation: GhostPad.Answer {
        hasSource && !convertsSource ? .forward : .understands([.video] + delivery.demand.sufficient)
    }
}
