import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphSession

/// The messages between the processes of a room, except buffers (`BufferMessage`). Each is encoded as JSON.
enum PeerMessage: Sendable, Codable {
    /// The first message on every connection. A `joined` for each of the sender's users follows.
    case hello(version: Int)
    /// A user of the sender has joined.
    case joined(String, UserProfile)
    /// A user of the sender has left.
    case left(String)
    /// A user of the sender has another profile.
    case profile(String, UserProfile)
    /// A user of the sender sends a command to a user of the receiver or, if `to` is `nil`, to all of them.
    case command(SharedCommand, from: String, to: String?)
    /// A stream of a user of the sender has changed, whether or not the receiver reads it.
    case stream(StreamKey, StreamChange)
    /// The sender wants to read a stream of the receiver, at this resolution. Sent again when the resolution changes.
    case read(StreamKey, Resolution)
    /// The sender no longer reads a stream of the receiver.
    case unread(StreamKey)
    /// A reader of the sender needs a key frame of a stream of the receiver.
    case keyFrame(StreamKey)
    // The remaining messages are for the readers of a stream of the sender.
    /// The stream begins.
    case begin(StreamKey)
    /// The format of the buffers that follow.
    case caps(StreamKey, SharedCaps)
    /// The stream's latency: how much later than its timestamp a buffer may arrive, in nanoseconds.
    case latency(StreamKey, UInt64)
    /// The stream is on or off.
    case status(StreamKey, Bool)
    /// The buffers that follow have an alpha channel, or no longer do.
    case alpha(StreamKey, Bool)
    /// The sender won't use these memories again, or will send their files again.
    case forget(memories: [UInt64])

    /// The version of the messages. Increment it when processes of different versions could no longer understand each
    /// other.
    static let version = 9

    var isGreeting: Bool {
        guard case .hello = self else { return false }
        return true
    }

    var bytes: Data {
        // Encoding can't fail: all values in a message can be encoded.
        (try? JSONEncoder().encode(self)) ?? Data()
    }

    /// Decodes a message; `nil` if the data isn't a message of this version.
    init?(_ bytes: Data) {
        guard let message = try? JSONDecoder().decode(PeerMessage.self, from: bytes) else { return nil }
        if case .hello(let version) = message, version != Self.version { return nil }
        self = message
    }
}

/// A command that is valid, encoded as one of two fields. Base64 takes less space than an array of numbers.
struct SharedCommand: Sendable, Codable {
    let command: SessionCommand

    private enum Key: CodingKey { case text, bytes }

    init(_ command: SessionCommand) { self.command = command }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        if let text = try fields.decodeIfPresent(String.self, forKey: .text) {
            command = .text(text)
        } else {
            command = .bytes([UInt8](try fields.decode(Data.self, forKey: .bytes)))
        }
        do { try command.validate() } catch {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "\(error)"))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        switch command {
        case .text(let text): try fields.encode(text, forKey: .text)
        case .bytes(let bytes): try fields.encode(Data(bytes), forKey: .bytes)
        }
    }
}

/// Fixed caps in system memory, in a form that can be sent to another process.
struct SharedCaps: Sendable, Codable {
    let caps: Caps

    /// The greatest length of the caps' text, in bytes, that fits into a message.
    private static let longest = 48_000

    /// Whether the text has only plain fields of plain types, and lists of buffers, such as a stream's headers. Other
    /// text isn't passed to GStreamer, which would report it as a programming error.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= longest
            && text.wholeMatch(
                of:
                    #/
                [a-z]+ / [a-z0-9.+-]+
                (, \s* [a-z_-]+ = \( (int|uint|int64|guint64|string|fraction|boolean|bitmask|double|buffer
                |GstVideoMultiviewFlagsSet) \) [A-Za-z0-9/:.+_-]+
                |, \s* [a-z_-]+ = \( buffer \) < \s* [0-9a-f]+ (, \s* [0-9a-f]+)* \s* >)*
                /#) != nil
    }

    /// `nil` if the caps can't be sent to another process. Headers that are too long are omitted; most decoders find
    /// them in the stream.
    init?(_ caps: Caps) {
        let text = "\(caps)"
        guard !Self.isPlain(text) else {
            self.caps = caps
            return
        }
        let short = text.replacing(#/,\s*streamheader=\(buffer\)<[^>]*>/#, with: "")
        guard Self.isPlain(short), let caps = Caps(short), caps.isFixed else { return nil }
        self.caps = caps
    }

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard Self.isPlain(text), let caps = Caps(text), caps.isFixed else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "no caps: \(text)"))
        }
        self.caps = caps
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode("\(caps)")
    }
}
