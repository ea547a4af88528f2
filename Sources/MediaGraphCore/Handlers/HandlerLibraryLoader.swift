import CMediaGraphABI
import GStreamer
import Glibc

/// Loads handler libraries into this copy's registry.
extension HandlerRegistry {
    /// Loads one library: a path, or a file name that the system's search path finds. Loading it twice does nothing.
    ///
    /// Throws `unsupported` for a file that is no handler library or was built by another Swift (both versions are
    /// named), `processingFailed` when its own registration failed.
    public func load(_ path: String) throws(MediaGraphError) {
        // Never closed: its code may run as long as the process does.
        guard let library = dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
            let reason = dlerror().map { String(cString: $0) } ?? "unknown"
            // Without a slash it isn't looked for in this folder.
            let isHere = !path.contains("/") && access(path, F_OK) == 0
            let hint = isHere ? "; to load the file in this folder, write ./\(path)" : ""
            throw .unsupported(.init("handler library \(path)", actual: "it can't be loaded: \(reason)\(hint)"))
        }
        guard let symbol = dlsym(library, HandlerLibrary.entryPoint) else {
            throw .unsupported(
                .init(
                    "handler library \(path)", expected: "the function \(HandlerLibrary.entryPoint)",
                    actual: "none; see HandlerLibrary in the documentation"))
        }
        guard loaded.withLock({ $0.insert(UInt(bitPattern: library)).inserted }) else { return }
        typealias EntryPoint = @convention(c) (UnsafeRawPointer) -> Int32
        try register(path, unsafeBitCast(symbol, to: EntryPoint.self))
    }

    func register(_ path: String, _ entryPoint: (UnsafeRawPointer) -> Int32) throws(MediaGraphError) {
        let visit = LibraryVisit(registry: self, path: path)
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
                    "handler library \(path)", expected: "MediaGraph ABI \(MEDIAGRAPH_ABI_VERSION)",
                    actual: "another; build it against this version of MediaGraph"))
        default:
            throw visit.failure
                ?? .processingFailed(.init("handler library \(path)", actual: "its registration failed"))
        }
    }

    /// Loads the libraries that `MEDIAGRAPH_HANDLERS` names, separated by colons.
    public func loadFromEnvironment() throws(MediaGraphError) {
        guard let value = getenv("MEDIAGRAPH_HANDLERS") else { return }
        for path in String(cString: value).split(separator: ":") { try load(String(path)) }
    }
}

/// One library while it registers.
private final class LibraryVisit {
    let registry: HandlerRegistry
    let path: String
    var failure: MediaGraphError?

    init(registry: HandlerRegistry, path: String) {
        self.registry = registry
        self.path = path
    }

    static func of(_ context: UnsafeMutableRawPointer?) -> LibraryVisit {
        Unmanaged<LibraryVisit>.fromOpaque(context!).takeUnretainedValue()
    }

    func add(_ description: MGHandlerDescription) throws(MediaGraphError) {
        guard let kind = HandlerRegistry.Kind(rawValue: description.kind) else {
            throw .unsupported(.init("handler of \(path)", expected: "a known kind", actual: "\(description.kind)"))
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
        try registry.add(
            HandlerRegistry.Entry(
                kind: kind, name: String(cString: description.name), summary: String(cString: description.summary),
                options: options, formats: [], library: path,
                make: { options, memory throws(MediaGraphError) in try foreign.make(options, in: memory) },
                validate: { options throws(MediaGraphError) in try foreign.validate(options) }))
    }
}
