import Foundation
import GStreamer
import Glibc
import MediaGraphCore
import MediaGraphHandlers
import Synchronization

/// The files that a graph's `filesink`s write, kept as they were until something is written.
///
/// A `filesink` empties its file when it goes to READY, before anything shows whether a camera is there. So it is made to open the
/// file without emptying it, and the file is emptied when the first buffer is about to be written. It stays the same file: with
/// its owner, mode, links and name, whatever kills the process. A file that the run made, and wrote nothing into, is removed.
final class OutputFiles: Sendable {
    private struct State: Sendable {
        var existing: [ExistingFile] = []
        /// Resolved paths of files that weren't there.
        var new: [String] = []
    }
    private let state = Mutex(State())

    /// Before a run: those sinks are in READY then whose files are kept.
    func open(in pipeline: Pipeline) {
        var files = State()
        for sink in pipeline.allElements where sink.factoryName == "filesink" && sink.state == .null {
            guard let path = try? sink.property("location", as: String.self), !path.isEmpty,
                (try? sink.property("append", as: Bool.self)) == false
            else { continue }
            var status = stat()
            if stat(path, &status) != 0 {
                if errno == ENOENT { files.new.append(FileName.resolved(path)) }
            } else if status.st_mode & S_IFMT == S_IFREG, status.st_size > 0,
                let file = ExistingFile(sink, path, status)
            {
                files.existing.append(file)
            }
        }
        state.withLock { $0 = files }
    }

    /// From now on sinks may write: their graph is about to play.
    func allowWriting() { for file in state.withLock({ $0.existing }) { file.allowWriting() } }

    /// After a run.
    func close() {
        let files = state.withLock { state in
            defer { state = State() }
            return state
        }
        for file in files.existing { file.close() }
        for path in files.new {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 else { continue }
            unlink(path)
        }
    }
}

/// A file that had something in it before the run.
private final class ExistingFile: Sendable {
    private enum State { case untouched, firstBufferWaits, emptied, closed }

    private struct Progress: Sendable {
        var state = State.untouched
        var mayWrite = false
    }

    private let sink: Element
    /// A duplicate of the sink's: both have one position in the file.
    private let descriptor: Int32
    private let progress = Mutex(Progress())

    /// `nil` where the sink is to open the file by itself: to say why it can't, say.
    init?(_ sink: Element, _ path: String, _ status: stat) {
        guard access(path, W_OK) == 0, let pad = sink.staticPad("sink"),
            let descriptor = Self.openWithoutEmptying(sink, status)
        else { return nil }
        self.sink = sink
        self.descriptor = descriptor
        pad.watchArrivals { [weak self] arrival in self?.isWaiting(at: arrival) ?? false }
    }

    /// `append` is the one way in which GStreamer 1.22 opens a file as it is. What is written at its end then, wherever a muxer
    /// seeks to, is a flag of the descriptor, which can be taken off.
    private static func openWithoutEmptying(_ sink: Element, _ status: stat) -> Int32? {
        let before = Set(appending(to: status))
        guard (try? sink.setProperty("append", to: true)) != nil else { return nil }
        let opened = sink.setState(.ready)
        try? sink.setProperty("append", to: false)
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

    /// This process's descriptors that append to the file.
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
        // Its graph may not have come as far as READY.
        if sink.state != .null, sink.parent.map({ $0.state == .null }) ?? true { sink.setState(.null) }
    }

    /// The first buffer may wait in PAUSED for a graph that never plays. What comes behind it comes when that is written, at the
    /// latest: then the file ends where that does.
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

    private func empty(_ progress: inout Progress) -> SystemError? {
        progress.state = .emptied
        return ftruncate(descriptor, lseek(descriptor, 0, SEEK_CUR)) == 0 ? nil : SystemError.latest
    }

    /// With no lock held: who hears of it may do anything.
    private func post(_ failure: SystemError) { sink.postError(.write, "can't truncate the existing file: \(failure)") }
}
