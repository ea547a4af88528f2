import Dispatch
import MediaGraph

/// Making and linking elements may ask servers and drivers, as GStreamer's element for X screens does, which connects when it is
/// linked: one that hangs is told rather than waited for.
enum ElementPatience {
    /// `body` on another thread. It blocks; a warning after three seconds says so, and it throws `timeOut` when `body` hasn't
    /// returned after ten.
    static func wait<Value: Sendable>(for body: @escaping @Sendable () throws -> Value) throws -> Value {
        let warning = DispatchWorkItem {
            DiagnosticReport().warning(
                "still creating the elements after 3 s; a server or driver may be hanging: "
                    + "see `mediagraph doctor`")
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + 3, execute: warning)
        defer { warning.cancel() }
        guard let result = DeviceCall({ Result(catching: body) }).answer(within: 10_000) else {
            throw MediaGraphError.timeOut(
                .init(
                    "the elements couldn't be created and linked within 10 s",
                    actual: "one of them is waiting for a server or driver; `mediagraph doctor` shows which"))
        }
        return try result.get()
    }
}
