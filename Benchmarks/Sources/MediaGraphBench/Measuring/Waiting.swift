import Dispatch

/// Waits on the main thread for asynchronous work and returns its result.
///
/// An asynchronous `main` would end the main thread in libdispatch, which makes valgrind 3.19 crash.
func waiting<R: Sendable>(for work: @escaping @Sendable () async throws -> R) throws -> R {
    let outcome = Outcome<R>()
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        do { outcome.result = .success(try await work()) } catch { outcome.result = .failure(error) }
        done.signal()
    }
    done.wait()
    return try outcome.result!.get()
}

/// `@unchecked Sendable`: written before the semaphore is signalled, read afterwards.
private final class Outcome<R>: @unchecked Sendable {
    var result: Result<R, any Error>?
}
