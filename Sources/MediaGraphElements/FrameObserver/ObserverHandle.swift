import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// A node's observer, called through the C interface, since it may come from another copy of MediaGraph's code.
///
/// `@unchecked Sendable`: the node calls the observer and asks for its preference under the stream lock. `registered`
/// is called before that. Everything else is constant or atomic.
final class ObserverHandle: @unchecked Sendable {
    private let abi: MGFrameObserver
    let name: String
    let mode: ObserverMode
    /// The observer's preference, cached; `nil` if the observer must be asked.
    private var cachedPreference: FramePreference?
    private let isOutdated = Atomic<Bool>(false)

    /// Takes ownership of the observer.
    init(_ abi: MGFrameObserver) {
        self.abi = abi
        name = loadName(abi.name)
        mode = abi.edits != 0 ? .readWrite : .readOnly
    }

    deinit { abi.destroy(abi.context) }

    func registered(at node: ElementInstance) { abi.registered(abi.context, node.element) }

    /// Returns the observer's preference, cached until `discardOutdatedPreference`. `isNew` says whether the observer
    /// was asked now. Throws if the nodes don't carry the preferred format.
    func preference() throws(MediaGraphError) -> (FramePreference, isNew: Bool) {
        if let cachedPreference { return (cachedPreference, false) }
        let new = try ask()
        cachedPreference = new
        return (new, true)
    }

    /// Marks the cached preference as outdated. May be called from any thread.
    func markPreferenceOutdated() { isOutdated.store(true, ordering: .releasing) }

    /// Discards the cached preference if it is marked as outdated.
    func discardOutdatedPreference() {
        if isOutdated.exchange(false, ordering: .acquiring) { cachedPreference = nil }
    }

    private func ask() throws(MediaGraphError) -> FramePreference {
        var preference = MGFramePreference()
        abi.preference(abi.context, &preference)
        let format = loadName(preference.format)
        guard let format = VideoFormat(rawValue: format) else {
            throw .unsupported(
                .init("\(name)'s preferred format", expected: "one of \(FrameCaps.formatNames)", actual: format))
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
