import CGStreamer

/// A mutex with a condition, for threads that GStreamer owns and that may block. Never wait on one from a Swift task.
public final class BlockingMonitor<State>: @unchecked Sendable {
    // `@unchecked Sendable`: `state` is touched only between lock and unlock of `mutex`, which is also why it needs no
    // dynamic check of exclusive access: it lies behind a pointer.
    @usableFromInline let mutex: UnsafeMutablePointer<GMutex>
    @usableFromInline let condition: UnsafeMutablePointer<GCond>
    @usableFromInline let state: UnsafeMutablePointer<State>
    /// How many threads wait: nobody is woken, which is a system call, where nobody waits.
    @usableFromInline let waiting: UnsafeMutablePointer<Int>

    public init(_ state: sending State) {
        self.state = .allocate(capacity: 1)
        self.state.initialize(to: state)
        waiting = .allocate(capacity: 1)
        waiting.initialize(to: 0)
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
        state.deinitialize(count: 1)
        state.deallocate()
        waiting.deallocate()
    }

    /// Runs `body` alone; `wakes` says whether waiting threads look again afterwards.
    @inlinable
    public func withLock<R, Failure: Error>(
        wakes: Bool = true, _ body: (inout State) throws(Failure) -> R
    ) throws(Failure) -> R {
        g_mutex_lock(mutex)
        defer { g_mutex_unlock(mutex) }
        let result = try body(&state.pointee)
        if wakes, waiting.pointee > 0 { g_cond_broadcast(condition) }
        return result
    }

    /// Waits until `body` gives a value. With a timeout in microseconds, `nil` when it has run out.
    @inlinable
    public func wait<R>(timeout microseconds: Int64? = nil, _ body: (inout State) -> R?) -> R? {
        g_mutex_lock(mutex)
        defer { g_mutex_unlock(mutex) }
        if let result = body(&state.pointee) {
            if waiting.pointee > 0 { g_cond_broadcast(condition) }
            return result
        }
        // The clock is asked only by those who wait.
        let deadline = microseconds.map { g_get_monotonic_time() + gint64($0) }
        waiting.pointee += 1
        defer { waiting.pointee -= 1 }
        while true {
            var isOver = false
            if let deadline {
                isOver = g_cond_wait_until(condition, mutex, deadline) == 0
            } else {
                g_cond_wait(condition, mutex)
            }
            let result = body(&state.pointee)
            if result != nil, waiting.pointee > 1 { g_cond_broadcast(condition) }
            if isOver || result != nil { return result }
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

    /// Lets it run to its end by itself. Instead of `join`, once.
    public func detach() { g_thread_unref(raw) }

    /// Waits for its end; on the thread itself it only lets go. Call once.
    public func join() {
        if isCurrent { g_thread_unref(raw) } else { g_thread_join(raw) }
    }
}

/// The system's monotonic clock in nanoseconds: cheap enough for each frame.
@inlinable
public func monotonicNanoseconds() -> UInt64 { UInt64(gst_util_get_timestamp()) }

/// A number for the thread that calls, as long as it lives.
@inlinable
public func currentThread() -> UInt { UInt(pthread_self()) }

/// Wall clock, Unix nanoseconds.
@inlinable
public func wallClockNanoseconds() -> UInt64 { UInt64(g_get_real_time()) * 1000 }

/// A millisecond, for a thread of one's own that looks again and again. Never in a Swift task.
public func sleepBriefly() { g_usleep(1000) }
