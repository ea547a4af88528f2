import CGStreamer
import CMediaGraphABI
import GStreamer

/// A node's vtable: C functions on its element, through which Swift calls a node of this or another copy of the code.
package enum NodeVTable {
    private static let quark = g_quark_from_string("mediagraph-door")

    // MARK: The node's side

    /// A vtable's structure, made once for each kind of node; `fill` sets the functions that the node has.
    package static func make(_ fill: (inout MGNodeVTable) -> Void) -> VTableConstant {
        let vtable = UnsafeMutablePointer<MGNodeVTable>.allocate(capacity: 1)
        vtable.initialize(to: MGNodeVTable())
        vtable.pointee.abi_version = MEDIAGRAPH_ABI_VERSION
        fill(&vtable.pointee)
        return VTableConstant(pointer: UnsafePointer(vtable))
    }

    /// Runs `body` with the node, for a function of its vtable. Answers 1, or 0 with the error stored.
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

    /// Puts a vtable on an element; `vtable` is a constant.
    package static func install(_ vtable: UnsafePointer<MGNodeVTable>, on instance: ElementInstance) {
        g_object_set_qdata(
            UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GObject.self), quark,
            UnsafeMutableRawPointer(mutating: vtable))
    }

    package static func remove(from instance: ElementInstance) {
        g_object_set_qdata(
            UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GObject.self), quark, nil)
    }

    // MARK: The other side

    /// The vtable of an element; throws when it is no node, or one of another version.
    private static func vtable(of element: Element) throws(MediaGraphError) -> MGNodeVTable {
        guard let raw = g_object_get_qdata(element.raw.assumingMemoryBound(to: GObject.self), quark) else {
            throw .wrongUsage(
                .init(element.name, expected: "a MediaGraph node", actual: element.factoryName ?? element.typeName))
        }
        let vtable = raw.assumingMemoryBound(to: MGNodeVTable.self)
        guard vtable.pointee.abi_version == MEDIAGRAPH_ABI_VERSION else {
            throw .unsupported(
                .init(
                    element.name, expected: "ABI \(MEDIAGRAPH_ABI_VERSION)", actual: "ABI \(vtable.pointee.abi_version)"
                ))
        }
        return vtable.pointee
    }

    private static func notThisKind(_ element: Element, _ expected: String) -> MediaGraphError {
        .wrongUsage(.init(element.name, expected: "a \(expected)", actual: element.factoryName ?? element.typeName))
    }

    /// Gives a node a handler, or takes away the one that it has, attached or named. When this throws the structure is still
    /// the caller's.
    package static func set<Structure: HandlerStructure>(
        _ structure: UnsafePointer<Structure>?, on element: Element
    ) throws(MediaGraphError) {
        guard let set = Structure.setter(in: try vtable(of: element)) else {
            throw notThisKind(element, Structure.nodes)
        }
        try MediaGraphError.check { set(element.element, structure, $0) }
    }

    /// Gives a node a handler, or destroys it when this throws.
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
        _ consumer: consuming sending C, memoryMode: MemoryMode?, to element: Element
    ) throws(MediaGraphError) {
        try attach(MGVideoConsumer(consumer, name: typeName(C.self), memoryMode: memoryMode), to: element)
    }

    package static func attach(_ microphone: some VirtualMic, to element: Element) throws(MediaGraphError) {
        try attach(MGAudioSource(microphone, name: typeName(type(of: microphone))), to: element)
    }

    /// Leaves a node without a handler of this kind.
    package static func detach<Structure: HandlerStructure>(
        _ type: Structure.Type, from element: Element
    ) throws(MediaGraphError) {
        try set(nil as UnsafePointer<Structure>?, on: element)
    }

    // MARK: Receivers of a pipe

    /// Adds one of many receivers; destroys it when this throws.
    package static func subscribe(
        _ receiver: MGVideoConsumer, _ resolution: Resolution, to element: Element
    ) throws(MediaGraphError) {
        var receiver = receiver
        do throws(MediaGraphError) {
            guard let subscribe = try vtable(of: element).subscribe else { throw notThisKind(element, "rawdatapipe") }
            try MediaGraphError.check { subscribe(element.element, &receiver, resolution.rawValue, $0) }
        } catch {
            receiver.destroy(receiver.context)
            throw error
        }
    }

    package static func subscribe(
        _ delegate: some RawDataDelegate, _ pipe: PipeIdentity, _ resolution: Resolution, to element: Element
    ) throws(MediaGraphError) {
        try subscribe(MGVideoConsumer(delegate, pipe), resolution, to: element)
    }

    /// A delegate or a channel.
    package static func unsubscribe(_ receiver: AnyObject, from element: Element) throws(MediaGraphError) {
        guard let unsubscribe = try vtable(of: element).unsubscribe else { throw notThisKind(element, "rawdatapipe") }
        try MediaGraphError.check { unsubscribe(element.element, Unmanaged.passUnretained(receiver).toOpaque(), $0) }
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
