import MediaGraph
import Synchronization

/// The lines that a sample's callbacks add, from any thread.
final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    var all: [String] { lines.withLock { $0 } }

    /// Returns the lines about one stream. Several streams are delivered at the same time, so their lines are interleaved.
    func about(_ stream: String) -> [String] { all.filter { $0.hasPrefix("\(stream): ") } }

    /// Waits until there are `count` lines that begin like this.
    func wait(for count: Int = 1, _ beginning: String = "") async throws {
        while all.count(where: { $0.hasPrefix(beginning) }) < count { try await Task.sleep(for: .milliseconds(5)) }
    }
}
