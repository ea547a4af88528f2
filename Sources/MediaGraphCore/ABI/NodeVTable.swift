import CGStreamer
import CMediaGraphABI
import GStreamer

/// The vtable on a node's element: C functions through which Swift calls a node of this or another copy of the code.
package enum NodeVTable {
    private static let quark = g_quark_from_string("mediagraph-vtable")

    // MARK: The node's side

    /// Creates the vtable of one kind of node; `fill` sets the functions that the node has. Call it once per kind: the
    /// structure is never freed.
    package static func make(_ fill: (inout MGNodeVTable) -> Void) -> VTableConstant {
        let vtable = UnsafeMutablePointer<MGNodeVTable>.allocate(capacity: 1)
        vtable.initialize(to: MGNodeVTable())
        vtable.pointee.abi_version = MEDIAGRAPH_ABI_VERSION
        fill(&vtable.pointee)
        return VTableConstant(pointer: UnsafePointer(vtable))
    }

    /// Runs `body` with the node, for a function of its vtable. Returns 1, or 0 with the error stored.
    package static func answer<Node: ElementImplementation>(
        _ element: UnsafeMutablePointer<GstElement>?, _ error: UnsafeMutablePointer<MGError>?, as: Node.Type,
        _ body: (Node) throws(MediaGraphError) -> Void
    ) -> Int32 {
        do throws(MediaGraphError) {
            try body(ElementClass.implementation(of: element!, as: Node.self))
            return 1
        } catch let refused {
            refused.store(in: error)
            return 0
        }
    }

    /// Calls a node's method that sets or removes its handler, for a `set_…` function of its vtable. Returns 1, or 0 with
    /// the error stored.
    package static func setHandler<Node: ElementImplementation, Structure>(
        _ element: UnsafeMutablePointer<GstElement>?, _ structure: UnsafePointer<Structure>?,
        _ error: UnsafeMutablePointer<MGError>?, _ attach: (Node) -> (Structure?) throws(MediaGraphError) -> Void
    ) -> Int32 {
        answer(element, error, as: Node.self) { (node) throws(MediaGraphError) in
            try attach(node)(structure?.pointee)
        }
    }

    /// Attaches a vtable to an element. The vtable must never be freed.
    package static func install(_ vtable: UnsafePointer<MGNodeVTable>, on instance: ElementInstance) {
        g_object_set_qdata(
            UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GObject.self), quark,
            UnsafeMutableRawPointer(mutating: vtable))
    }

    package static func remove(from instance: ElementInstance) {
        g_object_set_qdata(
            UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GObject.self), quark, nil)
    }

    // MARK: The caller's side

    /// Returns the vtable of an element. Throws if the element isn't a MediaGraph node, or is one with another ABI
    /// version.
    private static func vtable(of element: Element) throws(MediaGraphError) -> MGNodeVTable {
        guard let raw = g_object_get_qdata(element.raw.assumingMemoryBound(to: GObject.self), quark) else {
            throw .wrongUsage(
                .init(element.name, expected: "a MediaGraph node", actual: element.factoryName ?? element.typeName))
        }
        let vtable = raw.assumingMemoryBound(to: MGNodeVTable.self)
        guard vtable.pointee.abi_version == MEDIAGRAPH_ABI_VERSION else {
            throw .unsupported(
                .init(
                    element.name,
                    actual: "has MediaGraph ABI \(vtable.pointee.abi_version), but this program has ABI "
                        + "\(MEDIAGRAPH_ABI_VERSION); build the plugin and the program from the same version"))
        }
        return vtable.pointee
    }

    private static func notThisKind(_ element: Element, _ expected: String) -> MediaGraphError {
        .wrongUsage(.init(element.name, expected: "a \(expected)", actual: element.factoryName ?? element.typeName))
    }

    /// Gives a node a handler; `nil` removes the node's handler, whether attached or named in the description. If this
    /// throws, the caller still owns the structure.
    package static func set<Structure: HandlerStructure>(
        _ structure: UnsafePointer<Structure>?, on element: Element
    ) throws(MediaGraphError) {
        guard let set = Structure.setter(in: try vtable(of: element)) else {
            throw notThisKind(element, Structure.nodes)
        }
        try MediaGraphError.check { set(element.element, structure, $0) }
    }

    /// Gives a node a handler. Destroys the handler if this throws.
    package static func attach<Structure: HandlerStructure>(
        _ structure: Structure, to element: Element
    ) throws(MediaGraphError) {
        var structure = structure
        do throws(MediaGraphError) { try set(&structure, on: element) } catch {
            structure.destroy(structure.context)
            throw error
        }
    }

    package static func attach(_ source: some VideoSource, to element: Element) throws(MediaGraphError) {
        try attach(MGVideoSource(source, name: typeName(type(of: source))), to: element)
    }

    package static func attach<P: VideoProcessor>(_ processor: consuming sending P, to element: Element)
        throws(MediaGraphError)
    {
        try attach(MGVideoProcessor(processor, name: typeName(P.self)), to: element)
    }

    package static func attach<C: VideoConsumer>(
        _ consumer: consuming sending C, to element: Element
    ) throws(MediaGraphError) {
        try attach(MGVideoConsumer(consumer, name: typeName(C.self)), to: element)
    }

    package static func attach(_ microphone: some VirtualMic, to element: Element) throws(MediaGraphError) {
        try attach(MGAudioSource(microphone, name: typeName(type(of: microphone))), to: element)
    }

    /// Removes a node's handler of this kind.
    package static func detach<Structure: HandlerStructure>(
        _ type: Structure.Type, from element: Element
    ) throws(MediaGraphError) {
        try set(nil as UnsafePointer<Structure>?, on: element)
    }

    // MARK: Receivers of a pipe

    /// Adds a receiver to a pipe. Destroys the receiver if this throws.
    package static func subscribe(
        _ receiver: MGVideoConsumer, _ resolution: Resolution, _ format: PipeFormat = .auto, to element: Element
    ) throws(MediaGraphError) {
        var receiver = receiver
        do throws(MediaGraphError) {
            guard let subscribe = try vtable(of: element).subscribe else { throw notThisKind(element, "rawdatapipe") }
            try MediaGraphError.check {
                subscribe(element.element, &receiver, resolution.rawValue, format.rawValue, $0)
            }
        } catch {
            receiver.destroy(receiver.context)
            throw error
        }
    }

    package static func subscribe(
        _ delegate: some RawDataDelegate, _ pipe: PipeIdentity, _ resolution: Resolution,
        _ format: PipeFormat = .auto, to element: Element
    ) throws(MediaGraphError) {
        try subscribe(MGVideoConsumer(delegate, pipe), resolution, format, to: element)
    }

    /// Removes a receiver, which is a delegate or a channel.
    package static func unsubscribe(_ receiver: AnyObject, from element: Element) throws(MediaGraphError) {
        guard let unsubscribe = try vtable(of: element).unsubscribe else { throw notThisKind(element, "rawdatapipe") }
        try MediaGraphError.check { unsubscribe(element.element, Unmanaged.passUnretained(receiver).toOpaque(), $0) }
    }

    /// Changes the resolution of a subscribed delegate. Throws `wrongUsage` if the delegate isn't subscribed.
    package static func setResolution(
        _ resolution: Resolution, of receiver: AnyObject, on element: Element
    ) throws(MediaGraphError) {
        guard let set = try vtable(of: element).set_resolution else { throw notThisKind(element, "rawdatapipe") }
        try MediaGraphError.check {
            set(element.element, Unmanaged.passUnretained(receiver).toOpaque(), resolution.rawValue, $0)
        }
    }

    // MARK: Frame observers

    /// Makes a frame observer's node ask for the observer's preference again. Does nothing for any other element.
    static func observerChanged(_ element: Element) {
        guard let vtable = try? vtable(of: element), let changed = vtable.observer_changed else { return }
        changed(element.element)
    }
}

/// `@unchecked Sendable`: points to a structure that is never written again and never freed.
package struct VTableConstant: @unchecked Sendable {
    package let pointer: UnsafePointer<MGNodeVTable>
}
