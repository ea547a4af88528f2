import GStreamer
import Glibc
import Synchronization

/// Lets `filesink` and `fdsink` return from a pipe that nobody reads, so that their graph can stop.
///
/// GStreamer can't interrupt them: `filesink` waits in `open` for a reader, and both wait in `write`, with a lock that the
/// change of state needs. If a stop takes longer than `patience`, a thread becomes a reader of the pipe, and discards
/// what is in it, while it is full, until the graph has stopped. A reader that is merely very slow misses these bytes.
final class StalledPipes: Sendable {
    private static let patience = Duration.seconds(1)
    private let isOver = BlockingMonitor(false)

    /// Starts the threads. Call it when a stop is requested.
    init(_ pipeline: Pipeline) {
        for path in Set(pipeline.allElements.compactMap(\.writtenPipe)) {
            NativeThread("stalled-pipe") { [isOver] in Self.read(path, until: isOver) }.detach()
        }
    }

    /// Ends the threads. Call it when the graph has stopped.
    func end() { isOver.withLock { $0 = true } }

    private static func read(_ path: String, until isOver: BlockingMonitor<Bool>) {
        func waits(_ time: Duration) -> Bool { isOver.wait(timeout: time) { $0 ? true : nil } == nil }
        guard waits(patience) else { return }
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // Only a full pipe blocks its writer. What is in any other pipe belongs to its reader.
        let writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard writer >= 0 else { return }
        defer { close(writer) }
        func isFull() -> Bool {
            var request = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
            return poll(&request, 1, 0) == 0
        }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while waits(isFull() && Glibc.read(descriptor, &bytes, bytes.count) > 0 ? .zero : .milliseconds(10)) {}
    }
}

extension Element {
    /// The path of the pipe that a stock sink writes; `nil` for other elements and files.
    fileprivate var writtenPipe: String? {
        let path: String?
        switch factoryName {
        case "filesink": path = try? property("location", as: String.self)
        case "fdsink": path = (try? property("fd", as: Int32.self)).map { "/proc/self/fd/\($0)" }
        default: path = nil
        }
        var status = stat()
        guard let path, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return nil }
        return path
    }
}
