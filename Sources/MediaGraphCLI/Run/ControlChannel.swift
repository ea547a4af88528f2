import Foundation
import Glibc

/// The source of a run's commands: standard input, a file or a FIFO.
struct ControlChannel: Sendable {
    private static let longestLine = 1 << 16
    private let descriptor: CInt
    /// The name used in messages.
    private let name: String
    /// The prompt at which a person types the commands. Set it before calling `listen`.
    var prompt: Prompt?

    /// Opens a file or FIFO; `-` is standard input. Throws the system's reason if the file can't be opened.
    init(_ path: String) throws(ControlError) {
        guard path != "-" else {
            (descriptor, name) = (STDIN_FILENO, "standard input")
            return
        }
        name = path
        var status = stat()
        let kind = stat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
        // A directory can be opened, but not read.
        guard kind != S_IFDIR else { throw .refused("\(path): \(String(cString: strerror(EISDIR)))") }
        // Opening a FIFO for writing too avoids an end of file when a writer closes it.
        descriptor = open(path, (kind == S_IFIFO ? O_RDWR : O_RDONLY) | O_CLOEXEC)
        guard descriptor >= 0 else { throw .refused("\(path): \(String(cString: strerror(errno)))") }
    }

    /// Starts a thread that passes each line to `received`, until the end of the file or of the process.
    ///
    /// All closures are called on that thread: `typed` after each change at the prompt, and `failed` with the reason if
    /// a line is ignored or reading fails.
    func listen(
        _ received: @escaping @Sendable (String) -> Void, typed: @escaping @Sendable () -> Void,
        failed: @escaping @Sendable (String) -> Void
    ) {
        Thread.detachNewThread {
            var pending: [UInt8] = []
            var isTooLong = false
            var chunk = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(descriptor, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    // Another process has made the shared terminal or pipe non-blocking.
                    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    _ = poll(&request, 1, -1)
                    continue
                }
                if count < 0 { failed("\(name): \(String(cString: strerror(errno)))") }
                guard count > 0 else { break }
                if let prompt {
                    for event in prompt.type(chunk[..<count]) {
                        switch event {
                        case .line(let line): received(line)
                        case .endOfInput: received(ControlCommand.quitWord)
                        }
                    }
                    typed()
                    continue
                }
                for byte in chunk[..<count] {
                    guard byte == UInt8(ascii: "\n") else {
                        guard !isTooLong else { continue }
                        pending.append(byte)
                        if pending.count > Self.longestLine {
                            isTooLong = true
                            failed("\(name): ignored a line longer than \(Self.longestLine) bytes")
                        }
                        continue
                    }
                    if !isTooLong { received(String(decoding: pending, as: UTF8.self)) }
                    pending.removeAll(keepingCapacity: true)
                    isTooLong = false
                }
            }
            if !pending.isEmpty, !isTooLong { received(String(decoding: pending, as: UTF8.self)) }
        }
    }
}

extension ControlCommand {
    /// Parses one line and performs its command. Returns `nil` for an empty line or a comment.
    static func reply(to line: String, _ perform: (ControlCommand) throws(ControlError) -> ControlReply)
        -> ControlReply?
    {
        do throws(ControlError) {
            guard let command = try ControlCommand(line) else { return nil }
            return try perform(command)
        } catch {
            return ControlReply(command: line, error: "\(error)")
        }
    }
}
