import CMediaGraphABI
import GStreamer

/// A Swift library with your own handlers.
///
/// Create a package with a dynamic library product that depends on MediaGraph, and export one function:
/// ```swift
/// import MediaGraph
///
/// @c(mediagraph_register_handlers)
/// public func registerHandlers(_ registry: UnsafeRawPointer) -> Int32 {
///     HandlerLibrary.register(in: registry) { library in
///         try library.add(Vignette.self)
///     }
/// }
/// ```
/// Load it with `mediagraph run --load libvignette.so …`. The GStreamer plugin loads the libraries in the environment
/// variable `MEDIAGRAPH_HANDLERS`, which is a list of paths separated by colons. Build the library and the program with
/// the same version of Swift, because Swift has no stable ABI on Linux. The two copies of MediaGraph communicate
/// through a C interface.
public struct HandlerLibrary: ~Copyable {
    private let registry: UnsafePointer<MGHandlerRegistry>

    /// The name of the function that a handler library exports.
    public static let entryPoint = "mediagraph_register_handlers"

    /// Registers the library's handlers. Call it in the exported function with that function's argument, and return its
    /// result.
    public static func register(
        in registry: UnsafeRawPointer, _ body: (borrowing HandlerLibrary) throws -> Void
    ) -> Int32 {
        let registry = registry.assumingMemoryBound(to: MGHandlerRegistry.self)
        guard registry.pointee.abi_version == MEDIAGRAPH_ABI_VERSION else { return MG_WRONG_ABI }
        do {
            let version = String(cString: registry.pointee.swift_version)
            guard version == SwiftVersion.current else {
                throw MediaGraphError.unsupported(
                    .init(
                        "handler library",
                        actual: "was built with Swift \(SwiftVersion.current), the program with Swift \(version); "
                            + "use the same version"))
            }
            try body(HandlerLibrary(registry: registry))
            return MG_PASS
        } catch {
            var stored = MGError()
            MediaGraphError.wrapping(error, "the library").store(in: &stored)
            registry.pointee.failed(registry.pointee.context, &stored)
            return MG_FAILED
        }
    }

    /// Registers a video source under its `name`. Throws `alreadyInUse` if the name is taken.
    public func add<S: VideoSource & NamedHandler>(_ type: S.Type) throws(MediaGraphError) { try add(.init(type)) }
    /// Registers a video processor under its `name`. Throws `alreadyInUse` if the name is taken.
    public func add<P: VideoProcessor & NamedHandler>(_ type: P.Type) throws(MediaGraphError) { try add(.init(type)) }
    /// Registers a video consumer under its `name`. Throws `alreadyInUse` if the name is taken.
    public func add<C: VideoConsumer & NamedHandler>(_ type: C.Type) throws(MediaGraphError) { try add(.init(type)) }
    /// Registers a read-only frame observer under its `name`. Throws `alreadyInUse` if the name is taken.
    public func add<O: FrameObserver & NamedHandler>(_ type: O.Type) throws(MediaGraphError) { try add(.init(type)) }
    /// Registers a read-write frame observer under its `name`. Throws `alreadyInUse` if the name is taken.
    public func add<E: FrameEditor & NamedHandler>(_ type: E.Type) throws(MediaGraphError) { try add(.init(type)) }
    /// Registers an audio processor under its `name`. Throws `alreadyInUse` if the name is taken.
    public func add<P: AudioProcessor & NamedHandler>(_ type: P.Type) throws(MediaGraphError) { try add(.init(type)) }
    /// Registers a virtual microphone under its `name`. Throws `alreadyInUse` if the name is taken.
    public func add<M: VirtualMic & NamedHandler>(_ type: M.Type) throws(MediaGraphError) { try add(.init(type)) }
    /// Registers a virtual speaker under its `name`. Throws `alreadyInUse` if the name is taken.
    public func add<S: VirtualSpeaker & NamedHandler>(_ type: S.Type) throws(MediaGraphError) { try add(.init(type)) }

    private func add(_ entry: HandlerRegistry.Entry) throws(MediaGraphError) {
        let options = entry.options.map(\.line).joined()
        // The registry copies the description. The entry is never released, because the library is never unloaded.
        let context = Unmanaged.passRetained(HandlerFactory(entry)).toOpaque()
        try MediaGraphError.check { error in
            entry.name.withCString { name in
                entry.summary.withCString { summary in
                    options.withCString { options in
                        var description = MGHandlerDescription(
                            kind: entry.kind.rawValue, name: name, summary: summary, options: options,
                            create: { context, options, made, error in
                                HandlerFactory.of(context).answer(error) { (entry) throws(MediaGraphError) in
                                    try entry.make(String(cString: options!), made!)
                                }
                            }, context: context,
                            validate: { context, options, error in
                                HandlerFactory.of(context).answer(error) { (entry) throws(MediaGraphError) in
                                    try entry.validate(String(cString: options!))
                                }
                            })
                        return registry.pointee.add(registry.pointee.context, &description, error)
                    }
                }
            }
        }
    }
}

/// Creates handlers of one type, in the library that defines the type.
private final class HandlerFactory {
    private let entry: HandlerRegistry.Entry

    init(_ entry: HandlerRegistry.Entry) { self.entry = entry }

    static func of(_ context: UnsafeMutableRawPointer?) -> HandlerFactory {
        Unmanaged<HandlerFactory>.fromOpaque(context!).takeUnretainedValue()
    }

    /// Runs `body` for a C caller. Returns 1, or 0 with the error stored.
    func answer(
        _ error: UnsafeMutablePointer<MGError>?,
        _ body: (HandlerRegistry.Entry) throws(MediaGraphError) -> Void
    ) -> Int32 {
        do throws(MediaGraphError) {
            try body(entry)
            return 1
        } catch let refused {
            refused.store(in: error)
            return 0
        }
    }
}

extension HandlerOption {
    /// The option for the registry of another copy of the code: fields separated by tabs.
    fileprivate var line: String {
        [name, defaultValue, meaning, example, isOutput ? "output" : isInput ? "input" : ""].joined(separator: "\t")
            + "\n"
    }

    init(line: some StringProtocol) {
        let fields = String(line).split(separator: "\t" as Character, omittingEmptySubsequences: false).map(String.init)
        func field(_ index: Int) -> String { index < fields.count ? fields[index] : "" }
        self.init(
            field(0), default: field(1), example: field(3), isOutput: field(4) == "output",
            isInput: field(4) == "input",
            field(2))
    }
}

/// The version of the compiler that built this copy of the code, as precisely as `#if` can tell.
///
/// Swift has no stable ABI on Linux, so all copies in one process must come from the same compiler. Swift offers no
/// string with its version, only comparisons.
enum SwiftVersion {
    static let current: String = {
        #if compiler(>=6.5)
            "6.5 or later"
        #elseif compiler(>=6.4)
            "6.4"
        #elseif compiler(>=6.3.3)
            "6.3.3 or later"
        #elseif compiler(>=6.3.2)
            "6.3.2"
        #elseif compiler(>=6.3.1)
            "6.3.1"
        #elseif compiler(>=6.3)
            "6.3"
        #else
            "6.2"
        #endif
    }()
}
