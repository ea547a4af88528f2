import Synchronization

/// A flag that makes a waiting reader or writer return. It can be set and cleared on any thread.
package final class Interruption: Sendable {
    private let flag = Atomic<Bool>(false)

    package init() {}

    package var isSet: Bool { flag.load(ordering: .acquiring) }
    package func set(_ on: Bool) { flag.store(on, ordering: .releasing) }
}

/// A consumer of frames or sound whose calls may wait for another process, such as the reader of a FIFO.
package protocol InterruptibleHandler {
    /// The node sets it while no call may wait: when it pauses, flushes or stops.
    var interruption: Interruption { get }
}
