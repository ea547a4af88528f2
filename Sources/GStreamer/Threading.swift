import CGStreamer
import Glibc

/// A state protected by a mutex, with a condition that threads can wait for.
///
/// As strict as `Mutex`: the closures receive the state as `inout sending` and return their results as `sending`, so
/// that no reference to a part of the state can leave the lock, and no reference that the caller keeps can enter it.
///
/// Only threads that may block can use it, such as GStreamer's streaming threads. Never wait for it in a Swift task.
@usableFromInline
package final class BlockingMonitor<State>: @unchecked Sendable {
    // `@unchecked Sendable`: the pointers are constant; `state` and `waiting` are accessed only while `mutex` is
    // locked. `State` needn't be `Sendable`: `init` takes the state as `sending`, and the closures of `withLock` and
    // `wait` take it as `inout sending` and return `sending` results. So the state shares no references with the code
    // outside of the lock, as in `Mutex`. The state lies behind a pointer, so Swift doesn't check exclusive access at
    // run time; the lock ensures it.
    @usableFromInline let mutex: UnsafeMutablePointer<GMutex>
    @usableFromInline let condition: UnsafeMutablePointer<GCond>
    @usableFromInline let state: UnsafeMutablePointer<State>
    /// How many threads wait. Waking is a system call, so it is skipped if there are none.
    @usableFromInline let waiting: UnsafeMutablePointer<Int>

    /// Creates a monitor that owns `state`.
    package init(_ state: sending State) {
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

    /// Runs `body` with the lock held, and returns its result. Blocks while another thread holds the lock.
    ///
    /// The lock isn't recursive: `body` must not use the same monitor.
    ///
    /// - Parameters:
    ///   - wakes: whether waiting threads are woken afterwards, to run their own closures again. They aren't if `body`
    ///     throws.
    ///   - body: reads and changes the state.
    @inlinable
    package func withLock<R, Failure: Error>(
        wakes: Bool = true, _ body: (inout sending State) throws(Failure) -> sending R
    ) throws(Failure) -> sending R {
        g_mutex_lock(mutex)
        defer { g_mutex_unlock(mutex) }
        let result = try body(&state.pointee)
        if wakes, waiting.pointee > 0 { g_cond_broadcast(condition) }
        return result
    }

    /// Blocks until `body` returns a value, and returns that value.
    ///
    /// `body` runs with the lock held: at once, and again each time that another thread wakes this one. When it has
    /// returned a value, the other waiting threads are woken.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait at most; `nil` is without a limit. When this time is over, `body` runs once more,
    ///     and if it still returns `nil`, so does this method.
    ///   - body: reads and changes the state, and returns a value when the wait is over.
    package func wait<R>(timeout: Duration?, _ body: (inout sending State) -> sending R?) -> sending R? {
        wait(timeoutNanoseconds: timeout?.nanoseconds, body)
    }

    /// Does what ``wait(timeout:_:)`` does, without the conversion of a `Duration`, for code that runs for each buffer.
    @inlinable
    package func wait<R>(
        timeoutNanoseconds: UInt64? = nil, _ body: (inout sending State) -> sending R?
    ) -> sending R? {
        g_mutex_lock(mutex)
        defer { g_mutex_unlock(mutex) }
        if let result = body(&state.pointee) {
            if waiting.pointee > 0 { g_cond_broadcast(condition) }
            return result
        }
        // Read the clock only if this thread has to wait.
        let deadline = timeoutNanoseconds.map { g_get_monotonic_time() + gint64($0 / 1000) }
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

/// A thread of the operating system, for work that blocks.
package final class NativeThread: @unchecked Sendable {
    // `@unchecked Sendable`: the pointer is constant, and callers release it once, with `join` or `detach`.
    private let raw: UnsafeMutablePointer<GThread>

    /// Starts a thread that runs `body`. The system shows the first 15 characters of `name`.
    ///
    /// Call either ``join()`` or ``detach()``, once, to release the thread.
    package init(_ name: String, _ body: @escaping @Sendable () -> Void) {
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

    /// Whether the caller runs on this thread.
    package var isCurrent: Bool { g_thread_self() == raw }

    /// Releases the thread, which goes on by itself. Call it once, instead of ``join()``.
    package func detach() { g_thread_unref(raw) }

    /// Waits until the thread ends, and releases it. On the thread itself it releases without waiting. Call it once.
    package func join() {
        if isCurrent { g_thread_unref(raw) } else { g_thread_join(raw) }
    }
}

/// Returns the time of the system's monotonic clock in nanoseconds. Cheap enough to be called for each frame.
@usableFromInline
package func monotonicNanoseconds() -> UInt64 {
    // gst_util_get_timestamp returns the same, at twice the cost.
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(bitPattern: Int64(time.tv_sec &* 1_000_000_000 &+ time.tv_nsec))
}

/// Returns a number that identifies the calling thread for as long as the thread lives.
@inlinable
package func currentThreadID() -> UInt { UInt(pthread_self()) }

/// Returns the wall-clock time in nanoseconds since 1970 (UTC), with a resolution of one microsecond.
@inlinable
package func wallClockNanoseconds() -> UInt64 { UInt64(g_get_real_time()) * 1000 }

/// Sleeps for a millisecond: for a thread that polls. Never call it in a Swift task.
package func sleepBriefly() { g_usleep(1000) }
