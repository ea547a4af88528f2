import CMediaGraphABI
import GStreamer

/// Registry entries from Swift types, for each handler protocol.
extension HandlerRegistry.Entry {
    init<S: VideoSource & NamedHandler>(_ type: S.Type) {
        self.init(type) { MGVideoSource(try S(options: $0), name: S.name) }
    }

    init<P: VideoProcessor & NamedHandler>(_ type: P.Type) {
        self.init(type, formats: P.formats) { MGVideoProcessor(try P(options: $0), name: P.name) }
    }

    init<C: VideoConsumer & NamedHandler>(_ type: C.Type) {
        self.init(type, formats: C.formats) { MGVideoConsumer(try C(options: $0), name: C.name) }
    }

    init<O: FrameObserver & NamedHandler>(_ type: O.Type) {
        self.init(type, edits: false) { MGFrameObserver(try O(options: $0), name: O.name) }
    }

    init<E: FrameEditor & NamedHandler>(_ type: E.Type) {
        self.init(type, edits: true) { MGFrameObserver(try E(options: $0), name: E.name) }
    }

    init<P: AudioProcessor & NamedHandler>(_ type: P.Type) {
        self.init(type) { MGAudioProcessor(try P(options: $0), name: P.name) }
    }

    init<M: VirtualMic & NamedHandler>(_ type: M.Type) {
        self.init(type) { MGAudioSource(try M(options: $0), name: M.name) }
    }

    init<S: VirtualSpeaker & NamedHandler>(_ type: S.Type) {
        self.init(type) { MGAudioConsumer(try S(options: $0), name: S.name) }
    }

    private init<Handler: NamedHandler, Structure: HandlerStructure>(
        _ type: Handler.Type, formats: [VideoFormat] = [], edits: Bool? = nil,
        _ make: @escaping @Sendable (HandlerOptions) throws -> Structure
    ) {
        self.init(
            kind: Structure.kind, name: Handler.name, summary: Handler.summary, options: Handler.options,
            formats: formats, edits: edits, library: nil,
            make: { text, memory throws(MediaGraphError) in
                try Self.read(text, type) { options in
                    let made = try make(options)
                    do { try options.checkUnknown() } catch {
                        made.destroy(made.context)
                        throw error
                    }
                    memory.assumingMemoryBound(to: Structure.self).initialize(to: made)
                }
            },
            validate: { text throws(MediaGraphError) in try Self.read(text, type) { try type.validate($0) } })
    }

    private static func read(
        _ text: String, _ type: any NamedHandler.Type, _ body: (HandlerOptions) throws -> Void
    ) throws(MediaGraphError) {
        do { try body(try HandlerOptions(text, handler: type.name)) } catch {
            throw .wrapping(error, "handler \(type.name)")
        }
    }
}
