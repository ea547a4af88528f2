import Foundation
import GStreamer

/// A thread of this process, as the kernel reports it. It lets a test see that another thread waits, instead of giving
/// that thread time.
public struct ObservedThread: Sendable {
    private let path: String

    /// The calling thread.
    public static var current: ObservedThread {
        // The link leads to `PID/task/TID`.
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        return ObservedThread(path: "/proc/" + (link ?? "") + "/status")
    }

    /// Whether the thread sleeps, and has done so without a break for a millisecond.
    public var isWaiting: Bool {
        guard let before = sleepCount else { return false }
        sleepBriefly()
        return sleepCount == before
    }

    /// How often the thread has gone to sleep; `nil` if it is awake or has ended.
    private var sleepCount: Int? {
        guard let status = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        let lines = status.split(separator: "\n")
        guard lines.contains(where: { $0.hasPrefix("State:\tS") }) else { return nil }
        let line = lines.first { $0.hasPrefix("voluntary_ctxt_switches") }
        return line?.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) }
    }
}
