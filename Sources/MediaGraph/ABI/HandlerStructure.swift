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
    /// Gives a node a handler, or takes the one that it has away. `nil` when the node takes none of this kind; else what the
    /// door's function answers.
    static func set(
        _ structure: UnsafePointer<Self>?, on node: UnsafeMutablePointer<GstElement>, by door: MGNodeDoor,
        _ error: UnsafeMutablePointer<MGError>
    ) -> Int32?
}

extension HandlerStructure {
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

    static func set(
        _ source: UnsafePointer<Self>?, on node: UnsafeMutablePointer<GstElement>, by door: MGNodeDoor,
        _ error: UnsafeMutablePointer<MGError>
    ) -> Int32? { door.set_source.map { $0(node, source, error) } }
}

extension MGVideoProcessor: HandlerStructure {
    typealias Handle = ProcessorHandle
    static var kind: HandlerRegistry.Kind { .processor }

    static func set(
        _ processor: UnsafePointer<Self>?, on node: UnsafeMutablePointer<GstElement>, by door: MGNodeDoor,
        _ error: UnsafeMutablePointer<MGError>
    ) -> Int32? { door.set_processor.map { $0(node, processor, error) } }
}

extension MGVideoConsumer: HandlerStructure {
    typealias Handle = ConsumerHandle
    static var kind: HandlerRegistry.Kind { .consumer }

    static func set(
        _ consumer: UnsafePointer<Self>?, on node: UnsafeMutablePointer<GstElement>, by door: MGNodeDoor,
        _ error: UnsafeMutablePointer<MGError>
    ) -> Int32? { door.set_consumer.map { $0(node, consumer, error) } }
}

extension MGFrameObserver: HandlerStructure {
    typealias Handle = ObserverHandle
    static var kind: HandlerRegistry.Kind { .observer }

    static func set(
        _ observer: UnsafePointer<Self>?, on node: UnsafeMutablePointer<GstElement>, by door: MGNodeDoor,
        _ error: UnsafeMutablePointer<MGError>
    ) -> Int32? { door.set_observer.map { $0(node, observer, error) } }
}

extension MGAudioProcessor: HandlerStructure {
    typealias Handle = AudioProcessorHandle
    static var kind: HandlerRegistry.Kind { .audioProcessor }
    static var nodes: String { "virtualmic or virtualspeaker" }

    static func set(
        _ processor: UnsafePointer<Self>?, on node: UnsafeMutablePointer<GstElement>, by door: MGNodeDoor,
        _ error: UnsafeMutablePointer<MGError>
    ) -> Int32? { door.set_audio_processor.map { $0(node, processor, error) } }
}

extension MGAudioSource: HandlerStructure {
    typealias Handle = AudioSourceHandle
    static var kind: HandlerRegistry.Kind { .microphone }

    static func set(
        _ source: UnsafePointer<Self>?, on node: UnsafeMutablePointer<GstElement>, by door: MGNodeDoor,
        _ error: UnsafeMutablePointer<MGError>
    ) -> Int32? { door.set_audio_source.map { $0(node, source, error) } }
}

extension MGAudioConsumer: HandlerStructure {
    typealias Handle = AudioConsumerHandle
    static var kind: HandlerRegistry.Kind { .audioConsumer }

    static func set(
        _ consumer: UnsafePointer<Self>?, on node: UnsafeMutablePointer<GstElement>, by door: MGNodeDoor,
        _ error: UnsafeMutablePointer<MGError>
    ) -> Int32? { door.set_audio_consumer.map { $0(node, consumer, error) } }
}
