import Foundation
import Glibc
import Synchronization

/// A prompt below a live area, for commands typed on a terminal. Thread-safe.
final class Prompt: Sendable {
    private let line = Mutex(PromptLine())
    /// The terminal's original settings, if `takeTerminal` has changed them. Static, so that every exit of the process
    /// can restore them.
    private static let original = Mutex<termios?>(nil)
    private static let descriptor = STDIN_FILENO
    private static let marker = "> "

    /// Turns off the terminal's line editing and echo, unless that was already done. Ctrl-C and Ctrl-Z still send
    /// signals.
    func takeTerminal() {
        Self.original.withLock { original in
            guard original == nil else { return }
            var mode = termios()
            guard tcgetattr(Self.descriptor, &mode) == 0 else { return }
            original = mode
            mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
            // TCSAFLUSH would discard what has already been typed.
            tcsetattr(Self.descriptor, TCSANOW, &mode)
        }
    }

    /// Restores the terminal's settings. Doesn't wait for pending output.
    static func returnTerminal() {
        original.withLock { original in
            guard var mode = original.take() else { return }
            tcsetattr(descriptor, TCSANOW, &mode)
        }
    }

    /// Processes typed bytes. Returns the lines that they completed.
    func type(_ bytes: some Sequence<UInt8>) -> [PromptLine.Event] {
        line.withLock { line in bytes.compactMap { line.type($0) } }
    }

    /// Returns the line to draw. Of a line that is wider than `width`, only the end is shown.
    func rendered(width: Int, style: Style) -> (text: String, columns: Int) {
        let typed = line.withLock { $0.text }
        guard !typed.isEmpty else {
            let text = TextWidth.truncated("\(Self.marker)set NODE.PROPERTY=VALUE, get, send, help, quit", to: width)
            return (style.paint(text, .dim), TextWidth.columns(text))
        }
        var shown = TextWidth.printable(typed)
        while TextWidth.columns(shown) > max(1, width - Self.marker.count - 1) { shown.removeFirst() }
        let text = Self.marker + shown + "_"
        return (text, TextWidth.columns(text))
    }
}
