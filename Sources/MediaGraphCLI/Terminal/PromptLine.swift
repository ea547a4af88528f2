/// Edits a line at a prompt, from the bytes of a terminal whose own line editing and echo are off.
///
/// Backspace, Ctrl-W and Ctrl-U delete; up and down recall earlier lines. Other keys that send escape sequences do
/// nothing.
struct PromptLine: Sendable {
    private(set) var text = ""
    private var pending: [UInt8] = []
    private var escape: [UInt8] = []
    private var history: [String] = []
    /// The index in `history` of the line that is shown; `history.count` for the new line.
    private var historyIndex = 0

    /// The maximum length in bytes of UTF-8.
    static let longest = 1 << 12

    /// The result of a key that ends the line or the input.
    enum Event: Equatable { case line(String), endOfInput }

    /// Processes one typed byte. Returns an event if it completed the line or ended the input.
    mutating func type(_ byte: UInt8) -> Event? {
        // Only a continuation byte belongs to an incomplete character. All other bytes, and so all keys, end it.
        if byte & 0xC0 != 0x80 { pending = [] }
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
        return .line(line)
    }

    /// Appends a byte, which may be only a part of a character.
    private mutating func append(_ byte: UInt8) {
        pending.append(byte)
        if let character = String(validating: pending, as: UTF8.self) {
            if text.utf8.count < Self.longest { text += character }
            pending = []
        } else if pending.count >= 4 {
            pending = []
        }
    }

    /// Consumes a byte of `ESC [ … letter`, `ESC [ [ letter` or `ESC O letter`. Returns `false` for a key after a lone
    /// Esc, and for a control character, which aborts the sequence: both have their usual effect.
    private mutating func consumeEscape(_ byte: UInt8) -> Bool {
        let opensFunctionKey = escape.count == 2 && byte == UInt8(ascii: "[")
        switch (escape.count, byte) {
        case (_, 0x1B): escape = [byte]
        case (1, UInt8(ascii: "[")), (1, UInt8(ascii: "O")): escape.append(byte)
        case (1, _), (_, 0..<0x20), (_, 0x7F):
            escape = []
            return false
        case (_, 0x20..<0x40): break
        case _ where opensFunctionKey: escape.append(byte)
        case (2, UInt8(ascii: "A")): recall(historyIndex - 1)
        case (2, UInt8(ascii: "B")): recall(historyIndex + 1)
        default: escape = []
        }
        return true
    }

    /// Ends an escape sequence, and shows the line with this index, if there is one.
    private mutating func recall(_ wanted: Int) {
        escape = []
        guard (0...history.count).contains(wanted) else { return }
        historyIndex = wanted
        text = wanted == history.count ? "" : history[wanted]
    }
}
