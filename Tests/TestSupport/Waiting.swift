import GStreamer

/// Waits until `condition` is true; returns false after a minute, which is enough for a busy machine.
public func waitUntil(_ condition: () -> Bool) -> Bool {
    let deadline = monotonicNanoseconds() + 60_000_000_000
    while monotonicNanoseconds() < deadline {
        if condition() { return true }
        sleepBriefly()
    }
    return condition()
}

/// Waits as `waitUntil` does, but suspends, because the condition depends on other tasks that need the thread.
public func eventually(_ condition: () async -> Bool) async throws -> Bool {
    let deadline = monotonicNanoseconds() + 60_000_000_000
    while monotonicNanoseconds() < deadline {
        if await condition() { return true }
        try await Task.sleep(for: .milliseconds(1))
    }
    return await condition()
}
