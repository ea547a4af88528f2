import MediaGraph

/// What the library exports: called once, by whoever loads it.
@c(mediagraph_register_handlers)
public func registerHandlers(_ registry: UnsafeRawPointer) -> Int32 {
    HandlerLibrary.register(in: registry) { library in
        try library.add(Vignette.self)
    }
}
