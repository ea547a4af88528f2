import GStreamer
import Synchronization

/// Lets one thread at a time call a room, until the transport has stopped.
package final class RoomNotifications: Sendable {
    private let turn = Mutex(())
    /// The thread whose turn it is; 0 if there is none.
    private let notifier = Atomic<UInt>(0)
    private let hasStopped = Atomic<Bool>(false)

    package init() {}

    /// Runs `body`, which may call the room, unless the transport has stopped.
    package func notify(_ body: () -> Void) {
        turn.withLock { _ in
            guard !hasStopped.load(ordering: .acquiring) else { return }
            notifier.store(currentThreadID(), ordering: .relaxed)
            defer { notifier.store(0, ordering: .relaxed) }
            body()
        }
    }

    /// Prevents further calls of the room, and waits for the one that is under way, unless this thread makes it.
    package func stop() {
        hasStopped.store(true, ordering: .releasing)
        if notifier.load(ordering: .relaxed) != currentThreadID() { turn.withLock { _ in } }
    }
}
