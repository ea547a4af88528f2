import CGStreamer
import CMediaGraphABI
import GStreamer

/// How a Swift face reaches a node's element, which may belong to another copy of the code: a C structure on the element.
enum NodeDoor {
    private static let quark = g_quark_from_string("mediagraph-door")

    /// Puts a door on an element; `door` is a constant.
    static func install(_ door: UnsafePointer<MGNodeDoor>, on instance: ElementInstance) {
        g_object_set_qdata(
            UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GObject.self), quark,
            UnsafeMutableRawPointer(mutating: door))
    }

    static func remove(from instance: ElementInstance) {
        g_object_set_qdata(
            UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GObject.self), quark, nil)
    }

    /// A door's structure, made once for each kind of node.
    static func make(
        source: (
            @convention(c) (
                UnsafeMutablePointer<GstElement>?, UnsafePointer<MGVideoSource>?, UnsafeMutablePointer<MGError>?
            ) -> Int32
        )? = nil,
        processor: (
            @convention(c) (
                UnsafeMutablePointer<GstElement>?, UnsafePointer<MGVideoProcessor>?, UnsafeMutablePointer<MGError>?
            ) -> Int32
        )? = nil,
        consumer: (
            @convention(c) (
                UnsafeMutablePointer<GstElement>?, UnsafePointer<MGVideoConsumer>?, UnsafeMutablePointer<MGError>?
            ) -> Int32
        )? = nil,
        subscribe: (
            @convention(c) (
                UnsafeMutablePointer<GstElement>?, UnsafePointer<MGVideoConsumer>?, Int32,
                UnsafeMutablePointer<MGError>?
            ) -> Int32
        )? = nil,
        unsubscribe: (
            @convention(c) (UnsafeMutablePointer<GstElement>?, UnsafeRawPointer?, UnsafeMutablePointer<MGError>?)
                -> Int32
        )? = nil,
        observer: (
            @convention(c) (
                UnsafeMutablePointer<GstElement>?, UnsafePointer<MGFrameObserver>?, UnsafeMutablePointer<MGError>?
            ) -> Int32
        )? = nil,
        observerChanged: (@convention(c) (UnsafeMutablePointer<GstElement>?) -> Void)? = nil,
        audioProcessor: (
            @convention(c) (
                UnsafeMutablePointer<GstElement>?, UnsafePointer<MGAudioProcessor>?, UnsafeMutablePointer<MGError>?
            ) -> Int32
        )? = nil,
        audioSource: (
            @convention(c) (
                UnsafeMutablePointer<GstElement>?, UnsafePointer<MGAudioSource>?, UnsafeMutablePointer<MGError>?
            ) -> Int32
        )? = nil,
        audioConsumer: (
            @convention(c) (
                UnsafeMutablePointer<GstElement>?, UnsafePointer<MGAudioConsumer>?, UnsafeMutablePointer<MGError>?
            ) -> Int32
        )? = nil
    ) -> DoorConstant {
        let door = UnsafeMutablePointer<MGNodeDoor>.allocate(capacity: 1)
        door.initialize(
            to: MGNodeDoor(
                abi_version: MEDIAGRAPH_ABI_VERSION, set_source: source, set_processor: processor,
                set_consumer: consumer, subscribe: subscribe, unsubscribe: unsubscribe, set_observer: observer,
                observer_changed: observerChanged, set_audio_processor: audioProcessor,
                set_audio_source: audioSource, set_audio_consumer: audioConsumer))
        return DoorConstant(pointer: UnsafePointer(door))
    }

    /// The door of an element; throws when it is no node, or one of another version.
    private static func door(of element: Element) throws(MediaGraphError) -> UnsafePointer<MGNodeDoor> {
        guard let raw = g_object_get_qdata(element.raw.assumingMemoryBound(to: GObject.self), quark) else {
            throw .wrongUsage(
                .init(element.name, expected: "a MediaGraph node", actual: element.factoryName ?? element.typeName))
        }
        let door = UnsafePointer(raw.assumingMemoryBound(to: MGNodeDoor.self))
        guard door.pointee.abi_version == MEDIAGRAPH_ABI_VERSION else {
            throw .unsupported(
                .init(
                    element.name, expected: "ABI \(MEDIAGRAPH_ABI_VERSION)", actual: "ABI \(door.pointee.abi_version)"))
        }
        return door
    }

    static func attach<P: VideoProcessor>(_ processor: consuming sending P, to element: Element) throws(MediaGraphError)
    {
        guard let set = try door(of: element).pointee.set_processor else { throw notThisKind(element, "preprocessor") }
        var abi = MGVideoProcessor(processor, name: typeName(P.self))
        do { try MediaGraphError.check { set(element.element, &abi, $0) } } catch {
            abi.destroy(abi.context)
            throw error
        }
    }

    /// `nil` leaves the node without one.
    static func attach(_ processor: consuming MGAudioProcessor?, to element: Element) throws(MediaGraphError) {
        do throws(MediaGraphError) {
            guard let set = try door(of: element).pointee.set_audio_processor else {
                throw notThisKind(element, "virtualmic or virtualspeaker")
            }
            try MediaGraphError.check { error in
                guard var abi = processor else { return set(element.element, nil, error) }
                return set(element.element, &abi, error)
            }
        } catch {
            if let processor { processor.destroy(processor.context) }
            throw error
        }
    }

    /// `nil` leaves the node without one.
    static func attach(_ consumer: consuming MGAudioConsumer?, to element: Element) throws(MediaGraphError) {
        do throws(MediaGraphError) {
            guard let set = try door(of: element).pointee.set_audio_consumer else {
                throw notThisKind(element, "virtualspeaker")
            }
            try MediaGraphError.check { error in
                guard var abi = consumer else { return set(element.element, nil, error) }
                return set(element.element, &abi, error)
            }
        } catch {
            if let consumer { consumer.destroy(consumer.context) }
            throw error
        }
    }

    static func detachProcessor(from element: Element) throws(MediaGraphError) {
        guard let set = try door(of: element).pointee.set_processor else { throw notThisKind(element, "preprocessor") }
        try MediaGraphError.check { set(element.element, nil, $0) }
    }

    static func attach<C: VideoConsumer>(
        _ consumer: consuming sending C, memoryMode: MemoryMode?, to element: Element
    ) throws(MediaGraphError) {
        guard let set = try door(of: element).pointee.set_consumer else { throw notThisKind(element, "rawdatapipe") }
        var abi = MGVideoConsumer(consumer, name: typeName(C.self), memoryMode: memoryMode)
        do { try MediaGraphError.check { set(element.element, &abi, $0) } } catch {
            abi.destroy(abi.context)
            throw error
        }
    }

    static func detachConsumer(from element: Element) throws(MediaGraphError) {
        guard let set = try door(of: element).pointee.set_consumer else { throw notThisKind(element, "rawdatapipe") }
        try MediaGraphError.check { set(element.element, nil, $0) }
    }

    static func detachSource(from element: Element) throws(MediaGraphError) {
        try set(nil as UnsafePointer<MGVideoSource>?, on: element)
    }

    static func attach(_ channel: FrameChannel<OwnedVideoFrame>, to element: Element) throws(MediaGraphError) {
        guard let set = try door(of: element).pointee.set_consumer else { throw notThisKind(element, "rawdatapipe") }
        var abi = MGVideoConsumer(channel)
        do { try MediaGraphError.check { set(element.element, &abi, $0) } } catch {
            abi.destroy(abi.context)
            throw error
        }
    }

    static func subscribe(
        _ delegate: some RawDataDelegate, _ pipe: PipeIdentity, _ resolution: Resolution, to element: Element
    ) throws(MediaGraphError) {
        guard let subscribe = try door(of: element).pointee.subscribe else { throw notThisKind(element, "rawdatapipe") }
        var abi = MGVideoConsumer(delegate, pipe)
        do { try MediaGraphError.check { subscribe(element.element, &abi, resolution.rawValue, $0) } } catch {
            abi.destroy(abi.context)
            throw error
        }
    }

    /// A channel as one of many receivers.
    static func subscribe(
        _ channel: FrameChannel<OwnedVideoFrame>, _ resolution: Resolution, to element: Element
    ) throws(MediaGraphError) {
        guard let subscribe = try door(of: element).pointee.subscribe else { throw notThisKind(element, "rawdatapipe") }
        var abi = MGVideoConsumer(channel)
        abi.identity = UnsafeRawPointer(Unmanaged.passUnretained(channel).toOpaque())
        do { try MediaGraphError.check { subscribe(element.element, &abi, resolution.rawValue, $0) } } catch {
            abi.destroy(abi.context)
            throw error
        }
    }

    /// A delegate or a channel.
    static func unsubscribe(_ receiver: AnyObject, from element: Element) throws(MediaGraphError) {
        guard let unsubscribe = try door(of: element).pointee.unsubscribe else {
            throw notThisKind(element, "rawdatapipe")
        }
        try MediaGraphError.check { unsubscribe(element.element, Unmanaged.passUnretained(receiver).toOpaque(), $0) }
    }

    /// `nil` leaves the node without an observer.
    static func attach(_ observer: consuming MGFrameObserver?, to element: Element) throws(MediaGraphError) {
        do throws(MediaGraphError) {
            guard let set = try door(of: element).pointee.set_observer else {
                throw notThisKind(element, "frameobserver")
            }
            try MediaGraphError.check { error in
                guard var abi = observer else { return set(element.element, nil, error) }
                return set(element.element, &abi, error)
            }
        } catch {
            if let observer { observer.destroy(observer.context) }
            throw error
        }
    }

    /// Nothing for an element that is no frame observer.
    static func observerChanged(_ element: Element) {
        guard let door = try? door(of: element), let changed = door.pointee.observer_changed else { return }
        changed(element.element)
    }

    static func attach<S: VideoSource>(_ source: S, to element: Element) throws(MediaGraphError) {
        try attach(source, name: typeName(S.self), to: element)
    }

    static func attach(_ source: some VideoSource, name: String, to element: Element) throws(MediaGraphError) {
        var abi = MGVideoSource(source, name: name)
        do throws(MediaGraphError) { try set(&abi, on: element) } catch {
            abi.destroy(abi.context)
            throw error
        }
    }

    static func attach<M: VirtualMic>(_ source: M, to element: Element) throws(MediaGraphError) {
        try attach(source, name: typeName(M.self), to: element)
    }

    static func attach(_ source: some VirtualMic, name: String, to element: Element) throws(MediaGraphError) {
        var abi = MGAudioSource(source, name: name)
        do throws(MediaGraphError) { try set(&abi, on: element) } catch {
            abi.destroy(abi.context)
            throw error
        }
    }

    static func detachMicrophone(from element: Element) throws(MediaGraphError) {
        try set(nil as UnsafePointer<MGAudioSource>?, on: element)
    }

    /// The node takes the source over, but not when this throws.
    static func set(_ source: UnsafePointer<MGVideoSource>?, on element: Element) throws(MediaGraphError) {
        guard let set = try door(of: element).pointee.set_source else { throw notThisKind(element, "videosource") }
        try MediaGraphError.check { set(element.element, source, $0) }
    }

    /// The same for sound.
    static func set(_ source: UnsafePointer<MGAudioSource>?, on element: Element) throws(MediaGraphError) {
        guard let set = try door(of: element).pointee.set_audio_source else { throw notThisKind(element, "virtualmic") }
        try MediaGraphError.check { set(element.element, source, $0) }
    }

    private static func notThisKind(_ element: Element, _ expected: String) -> MediaGraphError {
        .wrongUsage(.init(element.name, expected: "a \(expected)", actual: element.factoryName ?? element.typeName))
    }
}

/// `@unchecked Sendable`: points to a structure that is never written again and never freed.
struct DoorConstant: @unchecked Sendable {
    let pointer: UnsafePointer<MGNodeDoor>
}
