import GStreamer

/// Runs `body`, which may block, on a thread of its own, and suspends the calling task until `body` returns. Swift's tasks
/// share a few threads; a blocked one would hold up all tasks.
package func runBlocking<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
        NativeThread("blocking-work") { continuation.resume(returning: Result(catching: body)) }.detach()
    }
    return try result.get()
}
