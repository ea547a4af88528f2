import CMediaGraphABI
import GStreamer
import Synchronization

/// The handlers that descriptions can name: built-in ones, ones that this program registers, and those of libraries.
///
/// `register` affects this copy of MediaGraph's code only. The plugin file and each handler library have a copy of
/// their own: for them, put handlers into a library (``HandlerLibrary``).
public final class HandlerRegistry: Sendable {
    /// The kinds of handlers. The raw values are those of the C interface (`MG_HANDLER_SOURCE` …).
    public enum Kind: Int32, Sendable, CaseIterable {
        /// A ``VideoSource``.
        case source = 1
        /// A ``VideoProcessor``.
        case processor
        /// A ``VideoConsumer``.
        case consumer
        /// A ``FrameObserver`` or ``FrameEditor``.
        case observer
        /// An ``AudioProcessor``.
        case audioProcessor
        /// A ``VirtualSpeaker``.
        case audioConsumer
        /// A ``VirtualMic``.
        case microphone

        /// The factory name of the node that takes handlers of this kind.
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

    /// A handler's entry in the registry.
    public struct Entry: Sendable {
        /// The kind of handler.
        public let kind: Kind
        /// The handler's name in `handler=`.
        public let name: String
        /// What the handler does, in one line.
        public let summary: String
        /// The options that the handler takes.
        public let options: [HandlerOption]
        /// The formats that the handler accepts, best first; empty if it accepts all, or comes from a library.
        package let formats: [VideoFormat]
        /// Whether an observer edits frames; `nil` for other kinds, and for handlers from libraries.
        package var edits: Bool?
        /// The path of the handler's library; `nil` for built-in handlers and those that this program registered.
        public let library: String?
        /// Creates a handler with these options in an empty structure of its kind (``HandlerStructure``).
        let make: @Sendable (String, UnsafeMutableRawPointer) throws(MediaGraphError) -> Void
        /// Throws the errors that `make` would throw because of these options, without creating a handler.
        let validate: @Sendable (String) throws(MediaGraphError) -> Void
    }

    /// The handles of the libraries that were loaded.
    let loaded = Mutex<Set<UInt>>([])
    private let entries = Mutex<[Kind: [String: Entry]]>([:])

    package init() {}

    // MARK: Registering, for this copy of the code only

    /// Registers a source for `videosource handler=NAME`. Throws `alreadyInUse` if the name is taken.
    public func register<S: VideoSource & NamedHandler>(_ type: S.Type) throws(MediaGraphError) { try add(Entry(type)) }

    /// Registers a processor for `preprocessor handler=NAME`. Throws `alreadyInUse` if the name is taken.
    public func register<P: VideoProcessor & NamedHandler>(_ type: P.Type) throws(MediaGraphError) {
        try add(Entry(type))
    }

    /// Registers a consumer for `rawdatapipe handler=NAME`. Throws `alreadyInUse` if the name is taken.
    public func register<C: VideoConsumer & NamedHandler>(_ type: C.Type) throws(MediaGraphError) {
        try add(Entry(type))
    }

    /// Registers an observer for `frameobserver handler=NAME`. Throws `alreadyInUse` if the name is taken.
    public func register<O: FrameObserver & NamedHandler>(_ type: O.Type) throws(MediaGraphError) {
        try add(Entry(type))
    }

    /// Registers an editor for `frameobserver mode=read-write handler=NAME`. Throws `alreadyInUse` if the name is
    /// taken.
    public func register<E: FrameEditor & NamedHandler>(_ type: E.Type) throws(MediaGraphError) { try add(Entry(type)) }

    /// Registers an audio processor for `virtualmic handler=NAME` and `virtualspeaker`. Throws `alreadyInUse` if the
    /// name is taken.
    public func register<P: AudioProcessor & NamedHandler>(_ type: P.Type) throws(MediaGraphError) {
        try add(Entry(type))
    }

    /// Registers a microphone for `virtualmic handler=NAME`. Throws `alreadyInUse` if the name is taken.
    public func register<M: VirtualMic & NamedHandler>(_ type: M.Type) throws(MediaGraphError) { try add(Entry(type)) }

    /// Registers a receiver of audio for `virtualspeaker handler=NAME`. Throws `alreadyInUse` if the name is taken.
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

    func remove(_ entry: Entry) { entries.withLock { $0[entry.kind]?[entry.name] = nil } }

    // MARK: Looking up

    /// Returns all handlers of a kind, sorted by name.
    public func handlers(_ kind: Kind) -> [Entry] {
        entries.withLock { ($0[kind] ?? [:]).values.sorted { $0.name < $1.name } }
    }

    /// Returns the handlers of every kind that a node takes, sorted by name. `node` is its factory name.
    public func handlers(of node: String) -> [Entry] {
        HandlerProperty.all(of: node).flatMap(handlers).sorted { $0.name < $1.name }
    }

    /// Returns the handlers that a property of a node may name, sorted by name.
    package func handlers(_ place: HandlerProperty) -> [Entry] {
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

    /// Throws the errors that creating the handler would throw because of these options, without creating it.
    package func validate(_ kind: Kind, _ name: String, options: String) throws(MediaGraphError) {
        try entry(kind, name).validate(options)
    }

    /// Creates a handler. The caller destroys it.
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
