import CMediaGraphABI
import Testing

@testable import MediaGraphCore

/// Tests libraries that violate the C interface.
@Suite struct HandlerLibraryTests {
    /// The second load fails as the first one did: a library whose registration failed doesn't count as loaded, and the
    /// handler that it had registered before is gone.
    @Test("GR-5 a handler without a required function or text is refused at each load of its library")
    func nullFields() {
        for _ in 1...2 {
            #expect {
                try HandlerRegistry.shared.registerOnce(1, "bad.so") { raw in
                    let registry = raw.assumingMemoryBound(to: MGHandlerRegistry.self).pointee
                    var failure = MGError()
                    for isComplete in [true, false] {
                        let isAdded = Self.withDescription(isComplete: isComplete) {
                            registry.add(registry.context, $0, &failure)
                        }
                        guard isAdded == 0 else { continue }
                        registry.failed(registry.context, &failure)
                        return MG_FAILED
                    }
                    return MG_PASS
                }
            } throws: { error in
                let error = error as? MediaGraphError
                return error?.code == .unsupported
                    && error?.detail.actual
                        == "a handler's name, summary, options, create or validate is NULL; set all five"
            }
            #expect(!HandlerRegistry.shared.handlers(.consumer).contains { $0.name == "first-of-bad" })
        }
    }

    private static func withDescription<R>(
        isComplete: Bool, _ body: (UnsafePointer<MGHandlerDescription>) -> R
    ) -> R {
        "first-of-bad".withCString { name in
            var description = MGHandlerDescription()
            description.kind = HandlerRegistry.Kind.consumer.rawValue
            (description.name, description.summary, description.options) = (name, name, name)
            if isComplete {
                description.create = { _, _, _, _ in 0 }
                description.validate = { _, _, _ in 0 }
            }
            return body(&description)
        }
    }
}
