import Foundation
import Glibc
import Synchronization

/// Standard input, output and error.
enum StandardStreams {
    /// Opens `/dev/null` for each standard stream that the parent process has closed. Otherwise the next file to be
    /// opened, such as a recording, would get its descriptor, and everything printed later would go into that file.
    ///
    /// Standard output is opened for reading, as in gnulib: a write to it then fails instead of being lost unnoticed.
    static func openMissing() {
        for descriptor: CInt in 0...2 where fcntl(descriptor, F_GETFD) == -1 {
            // open() returns the lowest free descriptor, which is this one: those below it are open by now.
            _ = open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Whether standard output is a pipe whose reader has gone away.
    static var hasLostReader: Bool {
        var request = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLERR) != 0
    }

    /// Standard output, reserved for the program's own lines. From the first use on, everything else that is written to
    /// standard output in this process, such as by a handler's `print`, goes to standard error.
    static let reservedOutput: FileHandle = {
        let descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0, dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 else { return .standardOutput }
        return FileHandle(fileDescriptor: descriptor)
    }()

    /// The first error that lost output. A reader that went away (`| head`) doesn't count.
    private static let loss = Mutex<String?>(nil)

    /// Writes text to a stream. Returns `false` if that fails, for example because the reader has gone away.
    @discardableResult
    static func write(_ text: String, to stream: FileHandle) -> Bool {
        do {
            try stream.write(contentsOf: Data(text.utf8))
            return true
        } catch {
            if stream.fileDescriptor != STDERR_FILENO { noteLoss(error as NSError) }
            return false
        }
    }

    private static func noteLoss(_ error: NSError) {
        let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError ?? error
        guard cause.code != EPIPE else { return }
        loss.withLock { $0 = $0 ?? String(cString: strerror(CInt(cause.code))) }
    }

    /// Exits the program with status 1 if output was lost.
    static func exitIfOutputIsLost() {
        guard let reason = loss.withLock({ $0 }) else { return }
        printError("error: can't write to standard output: \(reason)")
        exit(ExitStatus.failure.number)
    }

    static func printError(_ text: String) { write(text + "\n", to: .standardError) }
}
