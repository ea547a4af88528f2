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
