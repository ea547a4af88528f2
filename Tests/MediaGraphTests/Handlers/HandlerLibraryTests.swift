import CMediaGraphABI
import Testing

@testable import MediaGraphCore

/// Tests libraries that violate the C interface.
@Suite struct HandlerLibraryTests {
    /// The second load fails as the first one did: a library whose registration failed doesn't count as loaded.
    @Test("GR-5 a handler without a required function or text is refused at each load of its library")
    func nullFields() {
        for _ in 1...2 {
            #expect {
                try HandlerRegistry.shared.registerOnce(1, "bad.so") { raw in
                    let registry = raw.assumingMemoryBound(to: MGHandlerRegistry.self).pointee
                    var description = MGHandlerDescription()
                    description.kind = HandlerRegistry.Kind.consumer.rawValue
                    var failure = MGError()
                    let isAdded = registry.add(registry.context, &description, &failure)
                    guard isAdded == 0 else { return MG_PASS }
                    registry.failed(registry.context, &failure)
                    return MG_FAILED
                }
            } throws: { error in
                let error = error as? MediaGraphError
                return error?.code == .unsupported
                    && error?.detail.actual
                        == "a handler's name, summary, options, create or validate is NULL; set all five"
            }
        }
    }
}
