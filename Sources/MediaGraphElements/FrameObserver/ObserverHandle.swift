import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// An observer as a node holds it, whichever copy of the code it comes from.
///
/// `@unchecked Sendable`: the node calls it, and asks for its preference, under its stream lock, but for `registered`, which
/// comes before; the rest is constant.
final class ObserverHandle: @unchecked Sendable {
    private let abi: MGFrameObserver
    let name: String
    let mode: ObserverMode
    /// What it answered when it was last asked; `nil` until then.
    private var answer: FramePreference?
    private let hasChanged = Atomic<Bool>(false)

    /// Takes the observer over.
    init(_ abi: MGFrameObserver) {
        self.abi = abi
        name = loadName(abi.name)
        mode = abi.edits != 0 ? .readWrite : .readOnly
    }

    deinit { abi.destroy(abi.context) }

    func registered(at node: ElementInstance) { abi.registered(abi.context, node.element) }

    /// Returns the observer's preference, cached until `discardOutdatedPreference`. `isNew` says whether the observer was
    /// asked now. Throws if the nodes don't carry the preferred format.
    func preference() throws(MediaGraphError) -> (FramePreference, isNew: Bool) {
        if let answer { return (answer, false) }
        let new = try ask()
        answer = new
        return (new, true)
    }

    /// Marks the cached preference as outdated. Any thread.
    func markPreferenceOutdated() { hasChanged.store(true, ordering: .releasing) }

    /// Discards the cached preference if it is marked as outdated.
    func discardOutdatedPreference() { if hasChanged.exchange(false, ordering: .acquiring) { answer = nil } }

    private func ask() throws(MediaGraphError) -> FramePreference {
        var preference = MGFramePreference()
        abi.preference(abi.context, &preference)
        let format = loadName(preference.format)
        guard let format = VideoFormat(rawValue: format) else {
            throw .unsupported(
                .init("\(name)'s format", expected: "one of \(FrameCaps.formatNames)", actual: format))
        }
        return FramePreference(
            format: format, appliesRotation: preference.applies_rotation != 0,
            appliesMirror: preference.applies_mirror != 0)
    }

    @inline(__always)
    func see(_ frame: UnsafePointer<MGVideoFrame>) throws(MediaGraphError) -> Verdict {
        try Verdict { abi.frame(abi.context, frame, $0) }
    }
}
