import Foundation
import Glibc
import Synchronization

/// The three streams that every program begins with, or should.
enum StandardStreams {
    /// Opens `/dev/null` for each of 0, 1 and 2 that the caller has closed. The next file that is opened, a recording say,
    /// would get that number, and whatever is printed afterwards would go into it.
    ///
    /// Standard output is opened for reading, as gnulib does it: whoever writes there gets an error, and nothing is lost
    /// unnoticed.
    static func openMissing() {
        for descriptor: CInt in 0...2 where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest free number is given out, and those below it are open by now.
            _ = open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Whether standard output is a pipe that nobody reads any more.
    static var hasLostReader: Bool {
        var request = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLERR) != 0
    }

    /// Standard output for the program's own lines alone: what anything else in the process writes there, a handler's
    /// `print` say, goes to standard error from the first use on.
    static let reservedOutput: FileHandle = {
        let descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0, dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 else { return .standardOutput }
        return FileHandle(fileDescriptor: descriptor)
    }()

    /// Why standard output lost something; a reader that went away (`| head`) is no reason.
    private static let loss = Mutex<String?>(nil)

    /// Writes to a stream whose reader may be gone; false when it is.
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

    /// Ends the program with status 1 when something that was to be printed is lost.
    static func exitIfOutputIsLost() {
        guard let reason = loss.withLock({ $0 }) else { return }
        printError("error: writing standard output: \(reason)")
        exit(ExitStatus.failure.number)
    }

    static func printError(_ text: String) { write(text + "\n", to: .standardError) }
}
