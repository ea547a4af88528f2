import Foundation
import Glibc

/// Where a run reads commands from: standard input, a file or a FIFO.
struct ControlChannel: Sendable {
    private static let longestLine = 1 << 16
    private let descriptor: CInt
    /// As messages call it.
    private let name: String
    /// Where a person types the lines, before `listen`.
    var prompt: Prompt?

    /// `-` is standard input. Throws the system's reason when the file can't be opened.
    init(_ path: String) throws(ControlError) {
        guard path != "-" else {
            (descriptor, name) = (STDIN_FILENO, "standard input")
            return
        }
        name = path
        var status = stat()
        let kind = stat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
        // It can be opened, but not read.
        guard kind != S_IFDIR else { throw .refused("\(path): \(String(cString: strerror(EISDIR)))") }
        // A FIFO that is open for writing here too never ends when one of its writers goes.
        descriptor = open(path, (kind == S_IFIFO ? O_RDWR : O_RDONLY) | O_CLOEXEC)
        guard descriptor >= 0 else { throw .refused("\(path): \(String(cString: strerror(errno)))") }
    }

    /// Hands over each line, on a thread of its own, until the end of the file or of the process; `failed` gets the reason
    /// when it can't be read any further. `typed` is told of each change at the prompt.
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
                    // Somebody else made the terminal, or the pipe, non-blocking.
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
    /// Reads one line and does what it says; `nil` for an empty one.
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
