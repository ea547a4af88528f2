import Foundation
import Glibc
import Synchronization

/// A prompt below a live area, for commands on a terminal's standard input. Any thread may call it.
final class Prompt: Sendable {
    private struct State: Sendable {
        var line = PromptLine()
        /// As the terminal was found, while it is ours.
        var original: termios?
    }

    private let state = Mutex(State())
    private static let descriptor = STDIN_FILENO
    private static let marker = "> "

    /// Takes the terminal's line editing and echo over, unless that is done. Signals' keys stay what they are.
    func takeTerminal() {
        state.withLock { state in
            guard state.original == nil else { return }
            var mode = termios()
            guard tcgetattr(Self.descriptor, &mode) == 0 else { return }
            state.original = mode
            mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
            // Not TCSAFLUSH: what was typed meanwhile counts.
            tcsetattr(Self.descriptor, TCSANOW, &mode)
        }
    }

    /// Gives the terminal back as it was found.
    func returnTerminal() {
        state.withLock { state in
            guard var original = state.original.take() else { return }
            tcsetattr(Self.descriptor, TCSANOW, &original)
        }
    }

    func type(_ bytes: some Sequence<UInt8>) -> [PromptLine.Event] {
        state.withLock { state in bytes.compactMap { state.line.type($0) } }
    }

    /// The line to draw: its end, where it is wider than `width`.
    func rendered(width: Int, style: Style) -> (text: String, columns: Int) {
        let typed = state.withLock { $0.line.text }
        guard !typed.isEmpty else {
            let text = TextWidth.truncated("\(Self.marker)set NODE.PROPERTY=VALUE, get, help, quit", to: width)
            return (style.paint(text, .dim), TextWidth.columns(text))
        }
        var shown = TextWidth.printable(typed)
        while TextWidth.columns(shown) > max(1, width - Self.marker.count - 1) { shown.removeFirst() }
        let text = Self.marker + shown + "_"
        return (text, TextWidth.columns(text))
    }
}
