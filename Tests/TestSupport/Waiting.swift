import GStreamer

/// Whether `condition` comes true within ten seconds.
public func waitUntil(_ condition: () -> Bool) -> Bool {
    let deadline = monotonicNanoseconds() + 10_000_000_000
    while monotonicNanoseconds() < deadline {
        if condition() { return true }
        sleepBriefly()
    }
    return condition()
}
