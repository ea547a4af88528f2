import GStreamer
import Glibc

/// Whether `condition` comes true within ten seconds.
public func waitUntil(_ condition: () -> Bool) -> Bool {
    let deadline = monotonicNanoseconds() + 10_000_000_000
    while monotonicNanoseconds() < deadline {
        if condition() { return true }
        sleepBriefly()
    }
    return condition()
}

/// A millisecond: for a thread that polls, or plays a slow handler. Never in a Swift task.
public func sleepBriefly() { usleep(1000) }
