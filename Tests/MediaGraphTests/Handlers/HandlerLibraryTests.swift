import CMediaGraphABI
import Testing

@testable import MediaGraphCore

/// Libraries that don't keep to the C interface.
@Suite struct HandlerLibraryTests {
    @Test("GR-5 a handler that lacks a function or a text is refused, with what is needed")
    func nullFields() throws {
        var error: MediaGraphError?
        do throws(MediaGraphError) {
            try HandlerRegistry.shared.register("bad.so") { raw in
                let registry = raw.assumingMemoryBound(to: MGHandlerRegistry.self).pointee
                var description = MGHandlerDescription()
                description.kind = HandlerRegistry.Kind.consumer.rawValue
                var failure = MGError()
                let isAdded = registry.add(registry.context, &description, &failure)
                guard isAdded == 0 else { return MG_PASS }
                registry.failed(registry.context, &failure)
                return MG_FAILED
            }
        } catch let thrown { error = thrown }
        #expect(error?.code == .unsupported)
        #expect(
            error?.detail.actual
                == "a handler's name, summary, options, create or validate is NULL; set all five")
    }
}
