import CMediaGraphABI
import GStreamer
import Glibc

/// Loading of handler libraries.
extension HandlerRegistry {
    /// Loads a handler library. `path` is a path, or the name of a file in the system's library search path. Loading a
    /// library again does nothing.
    ///
    /// Throws `unsupported` if the file isn't a handler library or was built with another version of Swift or
    /// MediaGraph, and `processingFailed` if the library fails to register its handlers.
    public func load(_ path: String) throws(MediaGraphError) {
        // Never closed: the library's code may run as long as the process does.
        guard let library = dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
            let reason = dlerror().map { String(cString: $0) } ?? "unknown"
            // dlopen doesn't search the current directory for names without a slash.
            let isHere = !path.contains("/") && access(path, F_OK) == 0
            let hint = isHere ? "; to load the file in the current directory, write ./\(path)" : ""
            throw .unsupported(.init("handler library \(path)", actual: "can't be loaded: \(reason)\(hint)"))
        }
        guard let symbol = dlsym(library, HandlerLibrary.entryPoint) else {
            throw .unsupported(
                .init(
                    "handler library \(path)",
                    actual: "has no function \(HandlerLibrary.entryPoint); see HandlerLibrary in the documentation"))
        }
        typealias EntryPoint = @convention(c) (UnsafeRawPointer) -> Int32
        try registerOnce(UInt(bitPattern: library), path, unsafeBitCast(symbol, to: EntryPoint.self))
    }

    /// Registers a library's handlers unless the library is registered already. If one handler fails, none of them stays
    /// registered, and the next attempt tries again.
    func registerOnce(
        _ library: UInt, _ path: String, _ entryPoint: (UnsafeRawPointer) -> Int32
    ) throws(MediaGraphError) {
        guard loaded.withLock({ $0.insert(library).inserted }) else { return }
        let visit = LibraryVisit(registry: self, path: path)
        do throws(MediaGraphError) { try register(visit, entryPoint) } catch {
            for entry in visit.added { remove(entry) }
            loaded.withLock { _ = $0.remove(library) }
            throw error
        }
    }

    private func register(
        _ visit: LibraryVisit, _ entryPoint: (UnsafeRawPointer) -> Int32
    ) throws(MediaGraphError) {
        let answer = SwiftVersion.current.withCString { version in
            var registry = MGHandlerRegistry(
                abi_version: MEDIAGRAPH_ABI_VERSION, swift_version: version,
                context: Unmanaged.passUnretained(visit).toOpaque(),
                add: { context, description, error in
                    do throws(MediaGraphError) {
                        try LibraryVisit.of(context).add(description!.pointee)
                        return 1
                    } catch let refused {
                        refused.store(in: error)
                        return 0
                    }
                },
                failed: { LibraryVisit.of($0).failure = MediaGraphError(taking: $1!.pointee) })
            return withExtendedLifetime(visit) { entryPoint(&registry) }
        }
        switch answer {
        case MG_PASS: return
        case MG_WRONG_ABI:
            throw .unsupported(
                .init(
                    "handler library \(visit.path)",
                    actual: "was built against a MediaGraph with another ABI than \(MEDIAGRAPH_ABI_VERSION); "
                        + "build it against this version of MediaGraph"))
        default:
            throw visit.failure
                ?? .processingFailed(.init("handler library \(visit.path)", actual: "failed to register its handlers"))
        }
    }

    /// Loads the libraries that `MEDIAGRAPH_HANDLERS` names, separated by colons.
    public func loadFromEnvironment() throws(MediaGraphError) {
        guard let value = getenv("MEDIAGRAPH_HANDLERS") else { return }
        for path in String(cString: value).split(separator: ":") { try load(String(path)) }
    }
}

/// The registration of one library.
private final class LibraryVisit {
    let registry: HandlerRegistry
    let path: String
    var failure: MediaGraphError?
    private(set) var added: [HandlerRegistry.Entry] = []

    init(registry: HandlerRegistry, path: String) {
        self.registry = registry
        self.path = path
    }

    static func of(_ context: UnsafeMutableRawPointer?) -> LibraryVisit {
        Unmanaged<LibraryVisit>.fromOpaque(context!).takeUnretainedValue()
    }

    func add(_ description: MGHandlerDescription) throws(MediaGraphError) {
        guard let kind = HandlerRegistry.Kind(rawValue: description.kind) else {
            throw .unsupported(
                .init("handler library \(path)", actual: "has a handler of the unknown kind \(description.kind)"))
        }
        guard description.name != nil, description.summary != nil, description.options != nil,
            description.create != nil,
            description.validate != nil
        else {
            throw .unsupported(
                .init(
                    "handler library \(path)",
                    actual: "a handler's name, summary, options, create or validate is NULL; set all five"))
        }
        let options = String(cString: description.options).split(separator: "\n").map { HandlerOption(line: $0) }
        let foreign = ForeignHandler(description)
        let entry = HandlerRegistry.Entry(
            kind: kind, name: String(cString: description.name), summary: String(cString: description.summary),
            options: options, formats: [], library: path,
            make: { options, memory throws(MediaGraphError) in try foreign.make(options, in: memory) },
            validate: { options throws(MediaGraphError) in try foreign.validate(options) })
        try registry.add(entry)
        added.append(entry)
    }
}
