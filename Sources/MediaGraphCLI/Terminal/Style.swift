import Foundation

/// Colors and weights of text, for terminals that support them.
struct Style: Sendable {
    enum Face: String, Sendable {
        case bold = "1"
        case dim = "2"
        case error = "1;31"
        case warning = "1;35"
        case good = "32"
        case name = "36"
    }

    let isColored: Bool

    static let plain = Style(isColored: false)

    func paint(_ text: String, _ face: Face) -> String {
        isColored && !text.isEmpty ? "\u{1B}[\(face.rawValue)m\(text)\u{1B}[0m" : text
    }
}

extension Style {
    /// Creates the style for a stream. It has colors if the stream is a capable terminal and `NO_COLOR` isn't set
    /// (https://no-color.org).
    init(for stream: FileHandle, environment: [String: String] = ProcessInfo.processInfo.environment) {
        isColored = Terminal.isCapable(stream, environment) && environment["NO_COLOR"].map(\.isEmpty) ?? true
    }
}
