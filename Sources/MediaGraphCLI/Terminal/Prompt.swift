import Foundation
import Glibc
import Synchronization

/// A prompt below a live area, for commands on a terminal's standard input. Any thread may call it.
final class Prompt: Sendable {
    private let line = Mutex(PromptLine())
    /// As the terminal was found, while it is ours. One for the process, whose end has to give it back.
    private static let original = Mutex<termios?>(nil)
    private static let descriptor = STDIN_FILENO
    private static let marker = "> "

    /// Takes the terminal's line editing and echo over, unless that is done. Signals' keys stay what they are.
    func takeTerminal() {
        Self.original.withLock { original in
            guard original == nil else { return }
            var mode = termios()
            guard tcgetattr(Self.descriptor, &mode) == 0 else { return }
            original = mode
            mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
            // Not TCSAFLUSH: what was typed meanwhile counts.
            tcsetattr(Self.descriptor, TCSANOW, &mode)
        }
    }

    /// Gives the terminal back as it was found. Never waits for what is written there.
    static func returnTerminal() {
        original.withLock { original in
            guard var mode = original.take() else { return }
            tcsetattr(descriptor, TCSANOW, &mode)
        }
    }

    func type(_ bytes: some Sequence<UInt8>) -> [PromptLine.Event] {
        line.withLock { line in bytes.compactMap { line.type($0) } }
    }

    /// The line to draw: its end, where it is wider than `width`.
    func rendered(width: Int, style: Style) -> (text: String, columns: Int) {
        let typed = line.withLock { $0.text }
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
