import MediaGraph

/// Registers the library's handlers. Exported for the program or plugin that loads the library, which calls it once.
@c(mediagraph_register_handlers)
public func registerHandlers(_ registry: UnsafeRawPointer) -> Int32 {
    HandlerLibrary.register(in: registry) { library in
        try library.add(Vignette.self)
    }
}
