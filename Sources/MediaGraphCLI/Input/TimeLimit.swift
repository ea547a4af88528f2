import Dispatch
import MediaGraph

/// Limits the time for creating and linking elements, which may block on a hanging server or driver: for example,
/// `ximagesrc` connects to the X server when it is linked.
enum TimeLimit {
    /// Runs `body` on another thread and blocks until it returns.
    ///
    /// Prints a warning after three seconds. Throws `timeOut` after ten seconds and leaves `body` running.
    static func wait<Value: Sendable>(for body: @escaping @Sendable () throws -> Value) throws -> Value {
        let warning = DispatchWorkItem {
            DiagnosticReport().warning(
                "still creating the elements after 3 s; a server or driver may be hanging: "
                    + "run `mediagraph doctor` to find it")
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + 3, execute: warning)
        defer { warning.cancel() }
        guard let result = DeviceCall({ Result(catching: body) }).answer(within: .seconds(10)) else {
            throw MediaGraphError.timeOut(
                .init(
                    "the elements",
                    actual: "couldn't be created and linked within 10 s, because one of them waits for a server or "
                        + "driver; run `mediagraph doctor` to find it"))
        }
        return try result.get()
    }
}
