/// A line that is being typed at a prompt, from the bytes of a terminal that neither edits nor echoes.
///
/// Backspace, Ctrl-W and Ctrl-U delete; up and down bring back earlier lines. Other keys that send escape sequences do nothing.
struct PromptLine: Sendable {
    private(set) var text = ""
    private var pending: [UInt8] = []
    private var escape: [UInt8] = []
    private var history: [String] = []
    /// The place in `history`; behind its last line is the new one.
    private var place = 0

    static let longest = 1 << 12

    /// What a key may end.
    enum Event: Equatable { case line(String), endOfInput }

    mutating func type(_ byte: UInt8) -> Event? {
        guard escape.isEmpty, byte != 0x1B else {
            continueEscape(byte)
            return nil
        }
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
        place = history.count
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

    /// `ESC [ … letter` or `ESC O letter`.
    private mutating func continueEscape(_ byte: UInt8) {
        escape.append(byte)
        guard escape.count > 1 else { return }
        let isIntroducer = escape.count == 2 && [UInt8(ascii: "["), UInt8(ascii: "O")].contains(byte)
        guard !isIntroducer, !(0x20..<0x40).contains(byte) else { return }
        switch byte {
        case UInt8(ascii: "A"): recall(place - 1)
        case UInt8(ascii: "B"): recall(place + 1)
        default: break
        }
        escape = []
    }

    private mutating func recall(_ wanted: Int) {
        guard (0...history.count).contains(wanted) else { return }
        place = wanted
        text = wanted == history.count ? "" : history[wanted]
    }
}
