import CGStreamer
import CMediaGraphABI

/// A handler as the C structure that a node takes, whichever copy of the code it comes from. There is one structure for each
/// kind of handler.
protocol HandlerStructure {
    associatedtype Handle: HandlerHandle where Handle.Structure == Self
    static var kind: HandlerRegistry.Kind { get }
    /// The nodes that take one, for messages.
    static var nodes: String { get }
    /// An empty structure.
    init()
    var context: UnsafeMutableRawPointer! { get }
    var destroy: (@convention(c) (UnsafeMutableRawPointer?) -> Void)! { get }
    /// The function of a node's door that takes one; `nil` when the node takes none of this kind.
    static func setter(in door: MGNodeDoor) -> Setter?
}

extension HandlerStructure {
    typealias Setter = (
        UnsafeMutablePointer<GstElement>?, UnsafePointer<Self>?, UnsafeMutablePointer<MGError>?
    ) -> Int32

    static var nodes: String { kind.node }
}

/// A handler as its node holds it.
protocol HandlerHandle: AnyObject {
    associatedtype Structure
    /// Takes the structure over.
    init(_ structure: Structure)
}

extension MGVideoSource: HandlerStructure {
    typealias Handle = VideoSourceHandle
    static var kind: HandlerRegistry.Kind { .source }
    static func setter(in door: MGNodeDoor) -> Setter? { door.set_source }
}

extension MGVideoProcessor: HandlerStructure {
    typealias Handle = ProcessorHandle
    static var kind: HandlerRegistry.Kind { .processor }
    static func setter(in door: MGNodeDoor) -> Setter? { door.set_processor }
}

extension MGVideoConsumer: HandlerStructure {
    typealias Handle = ConsumerHandle
    static var kind: HandlerRegistry.Kind { .consumer }
    static func setter(in door: MGNodeDoor) -> Setter? { door.set_consumer }
}

extension MGFrameObserver: HandlerStructure {
    typealias Handle = ObserverHandle
    static var kind: HandlerRegistry.Kind { .observer }
    static func setter(in door: MGNodeDoor) -> Setter? { door.set_observer }
}

extension MGAudioProcessor: HandlerStructure {
    typealias Handle = AudioProcessorHandle
    static var kind: HandlerRegistry.Kind { .audioProcessor }
    static var nodes: String { "virtualmic or virtualspeaker" }
    static func setter(in door: MGNodeDoor) -> Setter? { door.set_audio_processor }
}

extension MGAudioSource: HandlerStructure {
    typealias Handle = AudioSourceHandle
    static var kind: HandlerRegistry.Kind { .microphone }
    static func setter(in door: MGNodeDoor) -> Setter? { door.set_audio_source }
}

extension MGAudioConsumer: HandlerStructure {
    typealias Handle = AudioConsumerHandle
    static var kind: HandlerRegistry.Kind { .audioConsumer }
    static func setter(in door: MGNodeDoor) -> Setter? { door.set_audio_consumer }
}
