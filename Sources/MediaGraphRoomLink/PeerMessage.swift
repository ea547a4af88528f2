import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphSession

/// What processes of a room tell each other beside the buffers (`BufferMessage`): JSON, one a message.
enum PeerMessage: Sendable, Codable {
    /// First on every connection: who is there.
    case hello(version: Int, users: [String])
    case joined(String)
    case left(String)
    /// A stream has started or stopped being sent, whoever reads it.
    case stream(StreamKey, Bool)
    /// The other side wants a stream of this one's, at that height or more, or no longer. Said again when that changes.
    case read(StreamKey, Resolution)
    case unread(StreamKey)
    /// A reader on the other side can show nothing of a stream of this one's before its next key frame.
    case keyFrame(StreamKey)
    // What a stream's readers are told.
    case begin(StreamKey)
    case caps(StreamKey, SharedCaps)
    /// How much later than its timestamps a buffer may come, in nanoseconds.
    case latency(StreamKey, UInt64)
    case status(StreamKey, Bool)
    /// The memories won't be used again, or come with their files once more.
    case forget(memories: [UInt64])

    /// Raised when processes of different versions could no longer talk.
    static let version = 6

    var isGreeting: Bool {
        guard case .hello = self else { return false }
        return true
    }

    var bytes: Data {
        // Nothing in a message can't be encoded.
        (try? JSONEncoder().encode(self)) ?? Data()
    }

    /// `nil` for what is no message of this version.
    init?(_ bytes: Data) {
        guard let message = try? JSONDecoder().decode(PeerMessage.self, from: bytes) else { return nil }
        if case .hello(let version, _) = message, version != Self.version { return nil }
        self = message
    }
}

/// Fixed caps of system memory on their way to another process.
struct SharedCaps: Sendable, Codable {
    let caps: Caps

    /// In bytes: there is room for more in no message.
    private static let longest = 48_000

    /// What GStreamer would complain of, as of a programmer's fault, never gets to it: plain fields of plain types only, and lists
    /// of buffers, as a stream's headers are.
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

    /// `nil` for caps that don't go from one process to another. Headers that are too long are left out: most decoders find them
    /// in the stream.
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
