import CMediaGraphABI
import GStreamer

extension MGFrameObserver {
    /// Wraps a Swift observer. The structure's owner calls `destroy` once.
    package init<O: FrameObserver>(_ observer: consuming sending O, name: String) {
        self.init(
            ObserverBox(observer) { observer, source in
                guard let frame = VideoFrame(source) else { throw MediaGraphError.unknownFormat }
                return try observer.observe(frame)
            }, edits: false, name: name)
    }

    /// Wraps a Swift editor. The structure's owner calls `destroy` once.
    package init<E: FrameEditor>(_ editor: consuming sending E, name: String) {
        self.init(
            ObserverBox(editor) { editor, source in
                guard var frame = VideoFrame(source) else { throw MediaGraphError.unknownFormat }
                return try editor.edit(&frame)
            }, edits: true, name: name)
    }

    private init(_ box: AnyObserverBox, edits: Bool, name: String) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passRetained(box).toOpaque()
        self.edits = edits ? 1 : 0
        registered = { context, node in
            let box = AnyObserverBox.of(context)
            box.registered(ObserverRegistration(WeakElement(ElementInstance(node!)), box.tenure))
        }
        preference = { context, preference in
            let wanted = AnyObserverBox.of(context).preference
            storeName(wanted.format.gstreamerName, in: &preference!.pointee.format)
            preference!.pointee.applies_rotation = wanted.appliesRotation ? 1 : 0
            preference!.pointee.applies_mirror = wanted.appliesMirror ? 1 : 0
        }
        frame = { context, frame, error in
            Unmanaged<AnyObserverBox>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.see(frame!, error) }
        }
        destroy = { Unmanaged<AnyObserverBox>.fromOpaque($0!).release() }
        storeName(name, in: &self.name)
    }
}

/// The context behind the C function pointers. Each frame costs one virtual call to the observer's own type and no
/// allocation.
private class AnyObserverBox {
    let tenure = ObserverTenure()
    var preference: FramePreference { FramePreference() }
    func registered(_ registration: ObserverRegistration) {}
    func see(_ frame: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 { MG_FAILED }

    static func of(_ context: UnsafeMutableRawPointer?) -> AnyObserverBox {
        Unmanaged<AnyObserverBox>.fromOpaque(context!).takeUnretainedValue()
    }
}

private final class ObserverBox<O: FrameObserving>: AnyObserverBox {
    private let observer: HandlerStorage<O>
    private let call: (inout O, UnsafePointer<MGVideoFrame>) throws -> Verdict

    init(_ observer: consuming O, _ call: @escaping (inout O, UnsafePointer<MGVideoFrame>) throws -> Verdict) {
        self.observer = HandlerStorage(observer)
        self.call = call
    }

    deinit { tenure.isOver.store(true, ordering: .relaxed) }

    override var preference: FramePreference { observer.pointer.pointee.preference }

    override func registered(_ registration: ObserverRegistration) { observer.pointer.pointee.registered(registration) }

    override func see(_ source: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        Verdict.status(error, "the observer") { try call(&observer.pointer.pointee, source) }
    }
}
