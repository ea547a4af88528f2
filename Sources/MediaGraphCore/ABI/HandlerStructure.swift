import CGStreamer
import CMediaGraphABI

/// The C structure through which a node takes a handler, whichever copy of the code the handler comes from. There is
/// one structure for each kind of handler.
package protocol HandlerStructure {
    static var kind: HandlerRegistry.Kind { get }
    /// The nodes that take a handler of this kind, for messages.
    static var nodes: String { get }
    /// An empty structure.
    init()
    var context: UnsafeMutableRawPointer! { get }
    var destroy: (@convention(c) (UnsafeMutableRawPointer?) -> Void)! { get }
    /// Returns the vtable function that sets a handler of this kind; `nil` if the node takes none.
    static func setter(in vtable: MGNodeVTable) -> Setter?
}

extension HandlerStructure {
    package typealias Setter = (
        UnsafeMutablePointer<GstElement>?, UnsafePointer<Self>?, UnsafeMutablePointer<MGError>?
    ) -> Int32

    package static var nodes: String { kind.node }
}

/// Stores a handler in memory that it allocates, because access through a pointer isn't checked for exclusivity at run
/// time. The checks would cost 117 instructions a frame and find nothing, since a node makes one call at a time.
struct HandlerStorage<Handler>: ~Copyable {
    let pointer: UnsafeMutablePointer<Handler>

    init(_ handler: consuming Handler) {
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: handler)
    }

    deinit {
        pointer.deinitialize(count: 1)
        pointer.deallocate()
    }
}

extension MGVideoSource: HandlerStructure {
    package static var kind: HandlerRegistry.Kind { .source }
    package static func setter(in vtable: MGNodeVTable) -> Setter? { vtable.set_source }
}

extension MGVideoProcessor: HandlerStructure {
    package static var kind: HandlerRegistry.Kind { .processor }
    package static func setter(in vtable: MGNodeVTable) -> Setter? { vtable.set_processor }
}

extension MGVideoConsumer: HandlerStructure {
    package static var kind: HandlerRegistry.Kind { .consumer }
    package static func setter(in vtable: MGNodeVTable) -> Setter? { vtable.set_consumer }
}

extension MGFrameObserver: HandlerStructure {
    package static var kind: HandlerRegistry.Kind { .observer }
    package static func setter(in vtable: MGNodeVTable) -> Setter? { vtable.set_observer }
}

extension MGAudioProcessor: HandlerStructure {
    package static var kind: HandlerRegistry.Kind { .audioProcessor }
    package static var nodes: String { "virtualmic or virtualspeaker" }
    package static func setter(in vtable: MGNodeVTable) -> Setter? { vtable.set_audio_processor }
}

extension MGAudioSource: HandlerStructure {
    package static var kind: HandlerRegistry.Kind { .microphone }
    package static func setter(in vtable: MGNodeVTable) -> Setter? { vtable.set_audio_source }
}

extension MGAudioConsumer: HandlerStructure {
    package static var kind: HandlerRegistry.Kind { .audioConsumer }
    package static func setter(in vtable: MGNodeVTable) -> Setter? { vtable.set_audio_consumer }
}
