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
            case .source: NodeName.videoSource
            case .processor: NodeName.preprocessor
            case .consumer: NodeName.rawDataPipe
            case .observer: NodeName.frameObserver
            case .audioProcessor, .microphone: NodeName.virtualMic
            case .audioConsumer: NodeName.virtualSpeaker
            }
        }
    }

    /// One handler as `inspect` shows it.
    public struct Entry: Sendable {
        /// Which node takes the handler.
        public let kind: Kind
        /// The handler's name in `handler=`.
        public let name: String
        /// What the handler does, in one line.
        public let summary: String
        /// The options that the handler takes.
        public let options: [HandlerOption]
        /// The formats that it takes, best first; empty for all that its node carries, and where only a library knows.
        package let formats: [VideoFormat]
        /// Whether an observer edits frames; `nil` for other kinds, and where only a library knows.
        package var edits: Bool?
        /// The library that it came with; `nil` when built in or registered here.
        public let library: String?
        /// Fills an empty structure of the kind (``HandlerStructure``) with a new handler that has these options.
        let make: @Sendable (String, UnsafeMutableRawPointer) throws(MediaGraphError) -> Void
        /// Throws what `make` would throw about these options; nothing is made.
        let validate: @Sendable (String) throws(MediaGraphError) -> Void
    }

    /// Handles of the libraries that have registered.
    let loaded = Mutex<Set<UInt>>([])
    private let entries = Mutex<[Kind: [String: Entry]]>([:])

    package init() {}

    // MARK: Registering

    /// Makes a source known as `videosource handler=NAME`.
    public func register<S: VideoSource & NamedHandler>(_ type: S.Type) throws(MediaGraphError) { try add(Entry(type)) }

    /// Makes a processor known as `preprocessor handler=NAME`.
    public func register<P: VideoProcessor & NamedHandler>(_ type: P.Type) throws(MediaGraphError) {
        try add(Entry(type))
    }

    /// Makes a consumer known as `rawdatapipe handler=NAME`.
    public func register<C: VideoConsumer & NamedHandler>(_ type: C.Type) throws(MediaGraphError) {
        try add(Entry(type))
    }

    /// Makes an observer known as `frameobserver handler=NAME`.
    public func register<O: FrameObserver & NamedHandler>(_ type: O.Type) throws(MediaGraphError) {
        try add(Entry(type))
    }

    /// Makes an editor known as `frameobserver mode=read-write handler=NAME`.
    public func register<E: FrameEditor & NamedHandler>(_ type: E.Type) throws(MediaGraphError) { try add(Entry(type)) }

    /// Makes an editor of audio known by its name.
    public func register<P: AudioProcessor & NamedHandler>(_ type: P.Type) throws(MediaGraphError) {
        try add(Entry(type))
    }

    /// Makes a microphone known as `virtualmic handler=NAME`.
    public func register<M: VirtualMic & NamedHandler>(_ type: M.Type) throws(MediaGraphError) { try add(Entry(type)) }

    /// Makes a receiver of audio known as `virtualspeaker handler=NAME`.
    public func register<S: VirtualSpeaker & NamedHandler>(_ type: S.Type) throws(MediaGraphError) {
        try add(Entry(type))
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
                    "\(entry.kind.node) handler \(entry.name)",
                    actual: "a handler of this name is already registered; choose another name"))
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
    package func handlers(_ place: HandlerPlace) -> [Entry] {
        place.kinds.flatMap(handlers).sorted { $0.name < $1.name }
    }

    package func has(_ kind: Kind, _ name: String) -> Bool { entries.withLock { $0[kind]?[name] != nil } }

    private func entry(_ kind: Kind, _ name: String) throws(MediaGraphError) -> Entry {
        guard let entry = entries.withLock({ $0[kind]?[name] }) else {
            throw .invalidParameter(
                .init(
                    "handler", expected: "one of " + handlers(kind).map(\.name).joined(separator: ", "),
                    actual: "\"\(name)\""))
        }
        return entry
    }

    /// Throws what the handler would throw about these options. It isn't made, and touches nothing.
    package func validate(_ kind: Kind, _ name: String, options: String) throws(MediaGraphError) {
        try entry(kind, name).validate(options)
    }

    /// A new handler, which the caller destroys.
    package func make<Structure: HandlerStructure>(
        _ type: Structure.Type, _ name: String, options: String
    ) throws(MediaGraphError) -> Structure {
        let entry = try entry(Structure.kind, name)
        var structure = Structure()
        try withUnsafeMutableBytes(of: &structure) { (bytes) throws(MediaGraphError) in
            try entry.make(options, bytes.baseAddress!)
        }
        return structure
    }
}
