import CMediaGraphABI
import GStreamer
import Synchronization

/// The handlers that descriptions can name: those built in, those registered by this program, and those of libraries.
public final class HandlerRegistry: Sendable {
    /// Which node a handler is for.
    public enum Kind: Int32, Sendable, CaseIterable {
        case source = 1
        case processor, consumer, observer, audioProcessor, audioConsumer, microphone

        /// The node's factory name.
        public var node: String {
            switch self {
            case .source: "videosource"
            case .processor: "preprocessor"
            case .consumer: "rawdatapipe"
            case .observer: "frameobserver"
            case .audioProcessor, .microphone: "virtualmic"
            case .audioConsumer: "virtualspeaker"
            }
        }
    }

    /// One handler as `inspect` shows it.
    public struct Entry: Sendable {
        public let kind: Kind
        public let name: String
        public let summary: String
        public let options: [HandlerOption]
        /// The formats that it takes, best first; empty for all that its node carries, and where only a library knows.
        let formats: [VideoFormat]
        /// Whether an observer edits frames; `nil` for other kinds, and where only a library knows.
        package var edits: Bool?
        /// The library that it came with; `nil` when built in or registered here.
        public let library: String?
        let make: Maker
        /// Reads options and throws what is wrong with them; nothing is made.
        let validate: @Sendable (HandlerOptions) throws -> Void
    }

    enum Maker: Sendable {
        case source(@Sendable (HandlerOptions) throws -> MGVideoSource)
        case processor(@Sendable (HandlerOptions) throws -> MGVideoProcessor)
        case consumer(@Sendable (HandlerOptions) throws -> MGVideoConsumer)
        case observer(@Sendable (HandlerOptions) throws -> MGFrameObserver)
        case audioProcessor(@Sendable (HandlerOptions) throws -> MGAudioProcessor)
        case microphone(@Sendable (HandlerOptions) throws -> MGAudioSource)
        case audioConsumer(@Sendable (HandlerOptions) throws -> MGAudioConsumer)
        case foreign(ForeignHandler)
    }

    public static let shared = HandlerRegistry()

    /// Handles of the libraries that have registered.
    let loaded = Mutex<Set<UInt>>([])
    private let entries = Mutex<[Kind: [String: Entry]]>([:])

    private init() {
        registerBuiltIns()
    }

    // MARK: Registering

    /// Makes a source known as `videosource handler=NAME`.
    public func register<S: VideoSource & NamedHandler>(_ type: S.Type) throws(MediaGraphError) {
        try add(
            Entry(
                kind: .source, name: S.name, summary: S.summary, options: S.options, formats: [], library: nil,
                make: .source { MGVideoSource(try S(options: $0), name: S.name) }, validate: { try S.validate($0) }))
    }

    /// Makes a processor known as `preprocessor handler=NAME`.
    public func register<P: VideoProcessor & NamedHandler>(_ type: P.Type) throws(MediaGraphError) {
        try add(
            Entry(
                kind: .processor, name: P.name, summary: P.summary, options: P.options, formats: P.formats,
                library: nil,
                make: .processor { MGVideoProcessor(try P(options: $0), name: P.name) },
                validate: { try P.validate($0) }))
    }

    /// Makes a consumer known as `rawdatapipe handler=NAME`.
    public func register<C: VideoConsumer & NamedHandler>(_ type: C.Type) throws(MediaGraphError) {
        try add(
            Entry(
                kind: .consumer, name: C.name, summary: C.summary, options: C.options, formats: C.formats, library: nil,
                make: .consumer { MGVideoConsumer(try C(options: $0), name: C.name) }, validate: { try C.validate($0) })
        )
    }

    /// Makes an observer known as `frameobserver handler=NAME`.
    public func register<O: FrameObserver & NamedHandler>(_ type: O.Type) throws(MediaGraphError) {
        try add(
            Entry(
                kind: .observer, name: O.name, summary: O.summary, options: O.options, formats: [], edits: false,
                library: nil,
                make: .observer { MGFrameObserver(try O(options: $0), name: O.name) },
                validate: { try O.validate($0) }))
    }

    /// Makes an editor known as `frameobserver mode=read-write handler=NAME`.
    public func register<E: FrameEditor & NamedHandler>(_ type: E.Type) throws(MediaGraphError) {
        try add(
            Entry(
                kind: .observer, name: E.name, summary: E.summary, options: E.options, formats: [], edits: true,
                library: nil,
                make: .observer { MGFrameObserver(try E(options: $0), name: E.name) },
                validate: { try E.validate($0) }))
    }

    /// Makes an editor of audio known by its name.
    public func register<P: AudioProcessor & NamedHandler>(_ type: P.Type) throws(MediaGraphError) {
        try add(
            Entry(
                kind: .audioProcessor, name: P.name, summary: P.summary, options: P.options, formats: [], library: nil,
                make: .audioProcessor { MGAudioProcessor(try P(options: $0), name: P.name) },
                validate: { try P.validate($0) }))
    }

    /// Makes a microphone known as `virtualmic handler=NAME`.
    public func register<M: VirtualMic & NamedHandler>(_ type: M.Type) throws(MediaGraphError) {
        try add(
            Entry(
                kind: .microphone, name: M.name, summary: M.summary, options: M.options, formats: [], library: nil,
                make: .microphone { MGAudioSource(try M(options: $0), name: M.name) }, validate: { try M.validate($0) })
        )
    }

    /// Makes a receiver of audio known as `virtualspeaker handler=NAME`.
    public func register<S: VirtualSpeaker & NamedHandler>(_ type: S.Type) throws(MediaGraphError) {
        try add(
            Entry(
                kind: .audioConsumer, name: S.name, summary: S.summary, options: S.options, formats: [], library: nil,
                make: .audioConsumer { MGAudioConsumer(try S(options: $0), name: S.name) },
                validate: { try S.validate($0) }))
    }

    func add(_ entry: Entry) throws(MediaGraphError) {
        let isNew = entries.withLock { entries in
            guard entries[entry.kind]?[entry.name] == nil else { return false }
            entries[entry.kind, default: [:]][entry.name] = entry
            return true
        }
        guard isNew else {
            throw .alreadyInUse(
                .init(
                    "\(entry.kind.node) handler \(entry.name)", expected: "a name of its own",
                    actual: "one that is taken"))
        }
    }

    // MARK: Looking up

    /// All handlers of a node, by name.
    public func handlers(_ kind: Kind) -> [Entry] {
        entries.withLock { ($0[kind] ?? [:]).values.sorted { $0.name < $1.name } }
    }

    /// All handlers of a node by its factory name, whatever their kind.
    public func handlers(of node: String) -> [Entry] {
        HandlerPlace.all(of: node).flatMap(handlers).sorted { $0.name < $1.name }
    }

    /// All that a property of a node may name.
    func handlers(_ place: HandlerPlace) -> [Entry] {
        place.kinds.flatMap(handlers).sorted { $0.name < $1.name }
    }

    func has(_ kind: Kind, _ name: String) -> Bool { entries.withLock { $0[kind]?[name] != nil } }

    private func entry(_ kind: Kind, _ name: String) throws(MediaGraphError) -> Entry {
        guard let entry = entries.withLock({ $0[kind]?[name] }) else {
            throw .invalidParameter(
                .init(
                    "handler", expected: "one of " + handlers(kind).map(\.name).joined(separator: ", "),
                    actual: "\"\(name)\""))
        }
        return entry
    }

    private func make<R>(
        _ entry: Entry, _ text: String, _ body: (HandlerOptions) throws -> R
    ) throws(MediaGraphError) -> R {
        let options = try HandlerOptions(text, handler: entry.name)
        do {
            let result = try body(options)
            return result
        } catch {
            throw .wrapping(error, "handler \(entry.name)")
        }
    }

    /// Throws what the handler would throw about these options. It isn't made, and touches nothing.
    func validate(_ kind: Kind, _ name: String, options: String) throws(MediaGraphError) {
        let entry = try entry(kind, name)
        if case .foreign(let foreign) = entry.make { return try foreign.validate(options) }
        try make(entry, options) { try entry.validate($0) }
    }

    func makeSource(_ name: String, options: String) throws(MediaGraphError) -> VideoSourceHandle {
        let entry = try entry(.source, name)
        if case .foreign(let foreign) = entry.make {
            return VideoSourceHandle(try foreign.make(options, MGVideoSource()))
        }
        guard case .source(let factory) = entry.make else { preconditionFailure("a source's maker") }
        return try make(entry, options) { options in
            let handle = VideoSourceHandle(try factory(options))
            try options.refuseUnknown()
            return handle
        }
    }

    func makeProcessor(_ name: String, options: String) throws(MediaGraphError) -> ProcessorHandle {
        let entry = try entry(.processor, name)
        if case .foreign(let foreign) = entry.make {
            return ProcessorHandle(try foreign.make(options, MGVideoProcessor()))
        }
        guard case .processor(let factory) = entry.make else { preconditionFailure("a processor's maker") }
        return try make(entry, options) { options in
            let handle = ProcessorHandle(try factory(options))
            try options.refuseUnknown()
            return handle
        }
    }

    func makeConsumer(_ name: String, options: String) throws(MediaGraphError) -> ConsumerHandle {
        let entry = try entry(.consumer, name)
        if case .foreign(let foreign) = entry.make {
            return ConsumerHandle(try foreign.make(options, MGVideoConsumer()))
        }
        guard case .consumer(let factory) = entry.make else { preconditionFailure("a consumer's maker") }
        return try make(entry, options) { options in
            let handle = ConsumerHandle(try factory(options))
            try options.refuseUnknown()
            return handle
        }
    }

    func makeObserver(_ name: String, options: String) throws(MediaGraphError) -> ObserverHandle {
        let entry = try entry(.observer, name)
        if case .foreign(let foreign) = entry.make {
            return ObserverHandle(try foreign.make(options, MGFrameObserver()))
        }
        guard case .observer(let factory) = entry.make else { preconditionFailure("an observer's maker") }
        return try make(entry, options) { options in
            let handle = ObserverHandle(try factory(options))
            try options.refuseUnknown()
            return handle
        }
    }

    func makeAudioProcessor(_ name: String, options: String) throws(MediaGraphError) -> AudioProcessorHandle {
        let entry = try entry(.audioProcessor, name)
        if case .foreign(let foreign) = entry.make {
            return AudioProcessorHandle(try foreign.make(options, MGAudioProcessor()))
        }
        guard case .audioProcessor(let factory) = entry.make else { preconditionFailure("an audio processor's maker") }
        return try make(entry, options) { options in
            let handle = AudioProcessorHandle(try factory(options))
            try options.refuseUnknown()
            return handle
        }
    }

    func makeMicrophone(_ name: String, options: String) throws(MediaGraphError) -> AudioSourceHandle {
        let entry = try entry(.microphone, name)
        if case .foreign(let foreign) = entry.make {
            return AudioSourceHandle(try foreign.make(options, MGAudioSource()))
        }
        guard case .microphone(let factory) = entry.make else { preconditionFailure("a microphone's maker") }
        return try make(entry, options) { options in
            let handle = AudioSourceHandle(try factory(options))
            try options.refuseUnknown()
            return handle
        }
    }

    func makeAudioConsumer(_ name: String, options: String) throws(MediaGraphError) -> AudioConsumerHandle {
        let entry = try entry(.audioConsumer, name)
        if case .foreign(let foreign) = entry.make {
            return AudioConsumerHandle(try foreign.make(options, MGAudioConsumer()))
        }
        guard case .audioConsumer(let factory) = entry.make else { preconditionFailure("an audio consumer's maker") }
        return try make(entry, options) { options in
            let handle = AudioConsumerHandle(try factory(options))
            try options.refuseUnknown()
            return handle
        }
    }
}
