/// A line that is being typed at a prompt, from the bytes of a terminal that neither edits nor echoes.
///
/// Backspace, Ctrl-W and Ctrl-U delete; up and down bring back earlier lines. Other keys that send escape sequences do nothing.
struct PromptLine: Sendable {
    private(set) var text = ""
    private var pending: [UInt8] = []
    private var escape: [UInt8] = []
    private var history: [String] = []
    /// Index in `history` of the line that is shown; `history.count` for the new line.
    private var historyIndex = 0

    static let longest = 1 << 12

    /// What a key may end.
    enum Event: Equatable { case line(String), endOfInput }

    mutating func type(_ byte: UInt8) -> Event? {
        if !escape.isEmpty || byte == 0x1B, consumeEscape(byte) { return nil }
        switch byte {
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return submit()
        case 0x04: return text.isEmpty ? .endOfInput : nil
        case 0x7F, 0x08: if !text.isEmpty { text.removeLast() }
        case 0x15: text = ""
        case 0x17:
            while text.last?.isWhitespace == true { text.removeLast() }
            while let last = text.last, !last.isWhitespace { text.removeLast() }
        case 0..<0x20: break
        default: append(byte)
        }
        return nil
    }

    private mutating func submit() -> Event {
        let line = text
        if !line.isEmpty, history.last != line { history.append(line) }
        historyIndex = history.count
        text = ""
        pending = []
        return .line(line)
    }

    /// A character may take several bytes.
    private mutating func append(_ byte: UInt8) {
        pending.append(byte)
        if let character = String(validating: pending, as: UTF8.self) {
            if text.utf8.count < Self.longest { text += character }
            pending = []
        } else if pending.count >= 4 {
            pending = []
        }
    }

    /// Consumes a byte of `ESC [ … letter` or `ESC O letter`. Returns false for any other key after a lone Esc, which then has
    /// its usual effect.
    private mutating func consumeEscape(_ byte: UInt8) -> Bool {
        guard escape.count != 1 || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O") else {
            escape = byte == 0x1B ? escape : []
            return byte == 0x1B
        }
        escape.append(byte)
        guard escape.count > 2, !(0x20..<0x40).contains(byte) else { return true }
        switch byte {
        case UInt8(ascii: "A"): recall(historyIndex - 1)
        case UInt8(ascii: "B"): recall(historyIndex + 1)
        default: break
        }
        escape = []
        return true
    }

    private mutating func recall(_ wanted: Int) {
        guard (0...history.count).contains(wanted) else { return }
        historyIndex = wanted
        text = wanted == history.count ? "" : history[wanted]
    }
}
