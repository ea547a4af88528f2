import GStreamer

/// Whether `condition` comes true within a minute: a busy machine takes its time.
public func waitUntil(_ condition: () -> Bool) -> Bool {
    let deadline = monotonicNanoseconds() + 60_000_000_000
    while monotonicNanoseconds() < deadline {
        if condition() { return true }
        sleepBriefly()
    }
    return condition()
}

/// The same for what other tasks do, which need the threads that `waitUntil` holds up.
public func eventually(_ condition: () async -> Bool) async throws -> Bool {
    let deadline = monotonicNanoseconds() + 60_000_000_000
    while monotonicNanoseconds() < deadline {
        if await condition() { return true }
        try await Task.sleep(for: .milliseconds(1))
    }
    return await condition()
}
