import CGStreamer

/// A mutex with a condition, for threads that GStreamer owns and that may block. Never wait on one from a Swift task.
public final class BlockingMonitor<State>: @unchecked Sendable {
    // `@unchecked Sendable`: `state` is touched only between lock and unlock of `mutex`.
    private let mutex: UnsafeMutablePointer<GMutex>
    private let condition: UnsafeMutablePointer<GCond>
    private var state: State

    public init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        g_mutex_init(mutex)
        g_cond_init(condition)
    }

    deinit {
        g_mutex_clear(mutex)
        g_cond_clear(condition)
        mutex.deallocate()
        condition.deallocate()
    }

    /// Runs `body` alone; `wakes` says whether waiting threads look again afterwards.
    public func withLock<R>(wakes: Bool = true, _ body: (inout State) throws -> R) rethrows -> R {
        g_mutex_lock(mutex)
        defer { g_mutex_unlock(mutex) }
        let result = try body(&state)
        if wakes { g_cond_broadcast(condition) }
        return result
    }

    /// Waits until `body` gives a value. With a timeout in microseconds, `nil` when it has run out.
    public func wait<R>(timeout microseconds: Int64? = nil, _ body: (inout State) -> R?) -> R? {
        g_mutex_lock(mutex)
        defer { g_mutex_unlock(mutex) }
        let deadline = microseconds.map { g_get_monotonic_time() + gint64($0) }
        while true {
            if let result = body(&state) {
                g_cond_broadcast(condition)
                return result
            }
            if let deadline {
                guard g_cond_wait_until(condition, mutex, deadline) != 0 else { return body(&state) }
            } else {
                g_cond_wait(condition, mutex)
            }
        }
    }
}

/// An operating system's thread, for work that blocks.
public final class NativeThread: @unchecked Sendable {
    // `@unchecked Sendable`: the pointer is constant and joined once, by `join`.
    private let raw: UnsafeMutablePointer<GThread>

    /// Starts at once. `name` is cut to 15 characters by the system.
    public init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Body(body)).toOpaque()
        raw = g_thread_new(
            name,
            { context in
                Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, box)
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    public var isCurrent: Bool { g_thread_self() == raw }

    /// Waits for its end; on the thread itself it only lets go. Call once.
    public func join() {
        if isCurrent { g_thread_unref(raw) } else { g_thread_join(raw) }
    }
}

/// The system's monotonic clock in nanoseconds: cheap enough for each frame.
@inline(__always)
public func monotonicNanoseconds() -> UInt64 { UInt64(gst_util_get_timestamp()) }

/// Wall clock, Unix nanoseconds.
@inline(__always)
public func wallClockNanoseconds() -> UInt64 { UInt64(g_get_real_time()) * 1000 }
