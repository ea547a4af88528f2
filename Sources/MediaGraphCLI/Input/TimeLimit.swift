import Dispatch
import Glibc
import MediaGraph
import Synchronization

/// Limits the time for creating and linking elements, which may block on a hanging server or driver: for example,
/// `ximagesrc` connects to the X server when it is linked.
enum TimeLimit {
    /// The number of idle seconds after which a warning is printed.
    private static let warning = 3
    /// The number of idle seconds after which the program stops waiting.
    private static let limit = 10

    /// Runs `body` on another thread and blocks until it returns.
    ///
    /// Prints a warning once `body` has waited for `warning` seconds. Throws `timeOut` after `limit` seconds and leaves
    /// `body` running. Seconds in which the process computes don't count: a description of thousands of elements takes long,
    /// and so does any description on a busy machine.
    static func wait<Value: Sendable>(for body: @escaping @Sendable () throws -> Value) throws -> Value {
        let call = DeviceCall { Result(catching: body) }
        let idle = Mutex(IdleSeconds(processTime: processTime()))
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler {
            switch idle.withLock({ $0.add(processTime: processTime()) }) {
            case warning:
                DiagnosticReport().warning(
                    "still creating the elements after \(warning) s; a server or driver may be hanging: "
                        + "run `mediagraph doctor` to find it")
            case limit: call.abandon()
            default: break
            }
        }
        timer.schedule(deadline: .now() + 1, repeating: 1)
        timer.activate()
        defer { timer.cancel() }
        guard let result = call.answer() else {
            throw MediaGraphError.timeOut(
                .init(
                    "the elements",
                    actual:
                        "couldn't be created and linked within \(limit) s, because one of them waits for a server or "
                        + "driver; run `mediagraph doctor` to find it"))
        }
        return try result.get()
    }

    /// Returns the processor time that the process has used since it began.
    private static func processTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// Counts the seconds in which a process only waited.
struct IdleSeconds {
    /// A process that waits, but for its timers, uses less processor time in a second.
    private static let limit = Duration.milliseconds(5)
    private var count = 0
    private var last: Duration

    init(processTime: Duration) { last = processTime }

    /// Records that one more second has passed. Returns the number of idle seconds if this one was idle.
    ///
    /// - Parameter processTime: the processor time that the process has used since it began.
    mutating func add(processTime: Duration) -> Int? {
        defer { last = processTime }
        guard processTime - last < Self.limit else { return nil }
        count += 1
        return count
    }
}
