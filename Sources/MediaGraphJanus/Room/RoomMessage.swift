import Foundation
import MediaGraphCore
import MediaGraphSession

/// A message that a user sends to the others through the data channel of the user's feed: JSON.
///
/// Janus keeps no messages for users who subscribe later. So each user sends the whole state, whenever it changes and once
/// a second.
struct RoomMessage: Sendable, Codable {
    /// The version of this format.
    var mediagraph = 1
    var state: UserState?
    var command: UserCommand?

    init(state: UserState? = nil, command: UserCommand? = nil) { (self.state, self.command) = (state, command) }

    /// Reads a text; `nil` if it isn't a message of this version.
    init?(_ text: String) {
        guard let message = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)), message.mediagraph == 1 else {
            return nil
        }
        self = message
    }

    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

/// What a user is doing.
struct UserState: Sendable, Hashable, Codable {
    /// A stream of the user's.
    struct Stream: Sendable, Hashable, Codable {
        var isOn = false
        var isMuted = false
        var isSpeaking = false
        var hasAlpha = false
        /// When one of the packets was sent; `nil` before the first.
        var reference: TimeReference?
        /// The raw value of the upright picture's ``Flip``; `nil` if it isn't flipped.
        var flip: Int32?

        private enum CodingKeys: String, CodingKey {
            case isOn = "on"
            case isMuted = "muted"
            case isSpeaking = "speaking"
            case hasAlpha = "alpha"
            case reference, flip
        }
    }

    var displayName = ""
    var customData = ""
    /// By the names of ``StreamKind``.
    var streams: [String: Stream] = [:]
    /// The users whose messages arrive at this user's program.
    var receivesFrom: [String] = []
    /// The highest resolutions that this user's program wants of others' streams, by user and kind.
    var wants: [String: [String: Resolution]] = [:]
}

/// A command.
struct UserCommand: Sendable, Hashable, Codable {
    /// `nil` for everybody.
    var recipient: String?
    /// Set, or else `encodedText`, or else `bytes`.
    var text: String?
    /// A text with characters that JSON escapes, as UTF-8 in Base64: JSON writes a control character with six.
    var encodedText: Data?
    var bytes: Data?

    init(_ command: SessionCommand, to recipient: String?) {
        self.recipient = recipient
        switch command {
        case .text(let text):
            let isPlain = !text.utf8.contains { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C }
            if isPlain { self.text = text } else { encodedText = Data(text.utf8) }
        case .bytes(let bytes): self.bytes = Data(bytes)
        }
    }

    /// The command; `nil` if it is invalid.
    var command: SessionCommand? {
        let text = text ?? encodedText.flatMap { String(bytes: $0, encoding: .utf8) }
        guard let command = text.map(SessionCommand.text) ?? bytes.map({ .bytes([UInt8]($0)) }) else { return nil }
        return (try? command.validate()) == nil ? nil : command
    }
}

extension UserState.Stream {
    /// What receivers need to know about the packets.
    var details: OutgoingPackets.Details {
        get { .init(reference: reference, flip: flip.flatMap(Flip.init) ?? .none) }
        set { (reference, flip) = (newValue.reference, newValue.flip == .none ? nil : newValue.flip.rawValue) }
    }

    mutating func apply(_ change: StreamChange) {
        switch change {
        case .status(let isOn): self.isOn = isOn
        case .muted(let isMuted): self.isMuted = isMuted
        case .speaking(let isSpeaking): self.isSpeaking = isSpeaking
        case .alpha(let isOn): hasAlpha = isOn
        }
    }

    /// The changes that lead from an older state to this one, in an order that a room accepts.
    func changes(since old: Self) -> [StreamChange] {
        var changes: [StreamChange] = []
        if isSpeaking != old.isSpeaking, !isSpeaking { changes.append(.speaking(false)) }
        if isMuted != old.isMuted { changes.append(.muted(isMuted)) }
        if isOn != old.isOn { changes.append(.status(isOn: isOn)) }
        if hasAlpha != old.hasAlpha { changes.append(.alpha(isOn: hasAlpha)) }
        if isSpeaking != old.isSpeaking, isSpeaking { changes.append(.speaking(true)) }
        return changes
    }
}
