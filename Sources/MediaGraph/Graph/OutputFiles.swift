import Foundation
import GStreamer
import Glibc
import MediaGraphCore
import MediaGraphHandlers
import Synchronization

/// Keeps the files of a graph's `filesink`s unchanged until data is written to them.
///
/// A `filesink` empties its file when it goes to READY, before it is known whether, for example, a camera is connected.
/// This class makes the sink open the file without emptying it, and empties the file when the first buffer is about to
/// be written. The file stays the same inode, with its owner, mode and links, even if the process is killed. A file
/// that the run created and wrote nothing into is removed.
final class OutputFiles: Sendable {
    private struct State: Sendable {
        var existing: [ExistingFile] = []
        /// The resolved paths of files that didn't exist before the run.
        var new: [String] = []
        /// Sinks that write to the file to which standard output is redirected, and append to it in this run.
        var appending: [Element] = []
    }
    private let state = Mutex(State())

    /// Opens the existing files before a run. Their sinks are in READY afterwards.
    func open(in pipeline: Pipeline) {
        var files = State()
        for sink in pipeline.allElements where sink.factoryName == "filesink" && sink.state == .null {
            guard let path = try? sink.property("location", as: String.self), !path.isEmpty,
                (try? sink.property("append", as: Bool.self)) == false
            else { continue }
            var status = stat()
            if stat(path, &status) != 0 {
                if errno == ENOENT { files.new.append(FileName.resolved(path)) }
            } else if status.isAppendedOutput {
                sink.configure("append", to: true)
                files.appending.append(sink)
            } else if status.st_mode & S_IFMT == S_IFREG, status.st_size > 0,
                let file = ExistingFile(sink, path, status)
            {
                files.existing.append(file)
            }
        }
        state.withLock { $0 = files }
    }

    /// Lets the sinks write, because their graph is about to play.
    func allowWriting() { for file in state.withLock({ $0.existing }) { file.allowWriting() } }

    /// Closes the files after a run, and removes new ones that are empty.
    func close() {
        let files = state.withLock { state in
            defer { state = State() }
            return state
        }
        for file in files.existing { file.close() }
        for sink in files.appending { sink.configure("append", to: false) }
        for path in files.new {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 else { continue }
            unlink(path)
        }
    }
}

extension stat {
    /// Whether standard output is appended to this file, as by `>> log`. What the file has must stay.
    fileprivate var isAppendedOutput: Bool {
        var output = stat()
        return fstat(STDOUT_FILENO, &output) == 0 && output.st_mode & S_IFMT == S_IFREG
            && fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND != 0 && st_dev == output.st_dev && st_ino == output.st_ino
    }
}

/// A file that had content before the run.
private final class ExistingFile: Sendable {
    private enum State { case untouched, firstBufferWaits, emptied, closed }

    private struct Progress: Sendable {
        var state = State.untouched
        var mayWrite = false
    }

    private let sink: Element
    /// A duplicate of the sink's descriptor; both share one file position.
    private let descriptor: Int32
    private let progress = Mutex(Progress())

    /// `nil` if the file can't be opened this way. The sink then opens it itself, and reports any error.
    init?(_ sink: Element, _ path: String, _ status: stat) {
        guard access(path, W_OK) == 0, let pad = sink.staticPad("sink"),
            let descriptor = Self.openWithoutEmptying(sink, status)
        else { return nil }
        self.sink = sink
        self.descriptor = descriptor
        pad.watchArrivals { [weak self] arrival in self?.isWaiting(at: arrival) ?? false }
    }

    /// Makes the sink open its file without emptying it, and returns a duplicate of the sink's descriptor; `nil` on
    /// failure.
    ///
    /// In GStreamer 1.22 only `append` does that. It opens the file with O_APPEND, which writes at the end of the file
    /// no matter where a muxer seeks to, so that flag is removed from the descriptor afterwards.
    private static func openWithoutEmptying(_ sink: Element, _ status: stat) -> Int32? {
        let before = Set(appending(to: status))
        guard (try? sink.setProperty("append", to: true)) != nil else { return nil }
        let opened = sink.setState(.ready)
        sink.configure("append", to: false)
        let descriptors = Set(appending(to: status)).subtracting(before)
        if opened != .failure, descriptors.count == 1, let descriptor = descriptors.first,
            fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_APPEND) == 0
        {
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
            if copy >= 0 { return copy }
        }
        sink.setState(.null)
        return nil
    }

    /// This process's descriptors that are open on the file with O_APPEND.
    private static func appending(to file: stat) -> [Int32] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return all.compactMap { Int32($0) }.filter { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_dev == file.st_dev && status.st_ino == file.st_ino
                && fcntl(descriptor, F_GETFL) & O_APPEND != 0
        }
    }

    deinit { Glibc.close(descriptor) }

    func allowWriting() {
        let failure = progress.withLock { progress -> SystemError? in
            progress.mayWrite = true
            return progress.state == .firstBufferWaits ? empty(&progress) : nil
        }
        if let failure { post(failure) }
    }

    func close() {
        progress.withLock { $0.state = .closed }
        // The graph may have failed before READY, and then doesn't take this sink back to NULL.
        if sink.state != .null, sink.parent.map({ $0.state == .null }) ?? true { sink.setState(.null) }
    }

    /// Returns whether to go on watching the sink's pad. Empties the file when the first buffer is about to be written.
    ///
    /// The first buffer may wait in PAUSED for a graph that never plays, so the file stays untouched until
    /// `allowWriting`. If a second arrival comes first, the sink has written the first buffer; the file is then cut off
    /// behind it.
    private func isWaiting(at arrival: PadArrival) -> Bool {
        let (isWaiting, failure) = progress.withLock { progress -> (Bool, SystemError?) in
            switch progress.state {
            case .untouched where arrival != .buffer: return (true, nil)
            case .untouched where !progress.mayWrite:
                progress.state = .firstBufferWaits
                return (true, nil)
            case .untouched, .firstBufferWaits: return (false, empty(&progress))
            case .emptied, .closed: return (false, nil)
            }
        }
        if let failure { post(failure) }
        return isWaiting
    }

    /// Cuts the file off at the current position, so that only what this run has written remains.
    private func empty(_ progress: inout Progress) -> SystemError? {
        progress.state = .emptied
        return ftruncate(descriptor, lseek(descriptor, 0, SEEK_CUR)) == 0 ? nil : SystemError.latest
    }

    /// Posts an error. Call without holding the lock, because the bus handler may do anything.
    private func post(_ failure: SystemError) { sink.postError(.write, "can't truncate the existing file: \(failure)") }
}
