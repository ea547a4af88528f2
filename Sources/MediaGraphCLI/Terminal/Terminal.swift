import Foundation
import Glibc

/// Properties of the terminal behind a stream.
enum Terminal {
    /// Returns whether the stream is a terminal that understands escape sequences.
    static func isCapable(
        _ stream: FileHandle, _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> Bool {
        guard isatty(stream.fileDescriptor) == 1, let kind = environment["TERM"], !kind.isEmpty else { return false }
        return kind != "dumb"
    }

    struct Size: Sendable, Equatable {
        var columns: Int
        var rows: Int
    }

    /// Returns the current size of the window, or 80 × 24 if the terminal doesn't tell.
    static func size(_ stream: FileHandle) -> Size {
        var window = winsize()
        guard ioctl(stream.fileDescriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return Size(columns: 80, rows: 24)
        }
        return Size(columns: Int(window.ws_col), rows: Int(window.ws_row))
    }

    /// Returns the width to which text is wrapped: that of the window, or 100 columns if the stream isn't a terminal.
    static func textWidth(_ stream: FileHandle) -> Int {
        isatty(stream.fileDescriptor) == 1 ? size(stream).columns : 100
    }

    /// Returns whether the process runs in the foreground. A background job must not draw over what the user does
    /// meanwhile.
    static func isForeground(_ stream: FileHandle) -> Bool {
        let group = tcgetpgrp(stream.fileDescriptor)
        return group == -1 || group == getpgrp()
    }
}
