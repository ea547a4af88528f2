import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// One of a speaker's streams, from a STREAM_START event to the next one. The handler gets it with each block.
///
/// `@unchecked Sendable`: the properties and the memory behind `abi` are constant.
final class SpeakerChannel: @unchecked Sendable {
    private static let count = Atomic<UInt64>(0)

    let stream: SpeakerStream
    let number: UInt64
    let streamStart: StreamStart?
    /// The C structure for a handler from another copy of this code.
    let abi: UnsafePointer<MGAudioStream>

    init(_ stream: SpeakerStream, _ streamStart: StreamStart?) {
        self.stream = stream
        self.streamStart = streamStart
        number = Self.count.add(1, ordering: .relaxed).newValue
        let kind =
            switch stream {
            case .mixed: MG_MIXED
            case .oneWay: MG_ONE_WAY
            case .shared: MG_SHARED
            }
        let abi = UnsafeMutablePointer<MGAudioStream>.allocate(capacity: 1)
        abi.initialize(
            to: MGAudioStream(
                kind: kind, number: number, user: stream.user.map { UnsafePointer(g_strdup($0.name)) },
                room: stream.user?.room.map { UnsafePointer(g_strdup($0)) }))
        self.abi = UnsafePointer(abi)
    }

    deinit {
        g_free(UnsafeMutableRawPointer(mutating: abi.pointee.user))
        g_free(UnsafeMutableRawPointer(mutating: abi.pointee.room))
        abi.deallocate()
    }
}

extension SpeakerUser {
    /// The user of a stream, from the stream's ID; `nil` if the ID isn't `room/user/kind`.
    init?(streamID: String) {
        guard let parts = Self.parts(ofStreamID: streamID) else { return nil }
        self.init(name: String(parts[1]), room: String(parts[0]))
    }

    /// Returns the kind of a stream, from the stream's ID; `nil` if the ID isn't `room/user/kind` or its kind is
    /// unknown.
    static func kind(streamID: String) -> UserStream? {
        parts(ofStreamID: streamID).flatMap { UserStream(rawValue: String($0[2])) }
    }

    private static func parts(ofStreamID id: String) -> [Substring]? {
        let parts = id.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 3 && parts.allSatisfy { !$0.isEmpty } ? parts : nil
    }

    /// The user of a pad, from the pad's name: `user_anna_40x` belongs to "anna@x".
    init(padName: String) {
        let text = padName.hasPrefix("user_") ? String(padName.dropFirst("user_".count)) : padName
        self.init(name: (try? PadName.unescape(text)) ?? text)
    }
}

/// The bus message about the status of a speaker's streams.
enum SpeakerStatus {
    static let messageName = "mediagraph-audio-status"

    static func message(_ stream: SpeakerStream, on: Bool) -> Structure {
        Structure(
            messageName,
            [("stream", stream.kind), ("on", on)] + (stream.user.map { [("user", $0.name)] } ?? [])
                + (stream.user?.room.map { [("room", $0)] } ?? []))
    }

    static let messageDeclaration = MessageDeclaration(
        messageName, "One of the speaker's streams began or ended; posted once for each change",
        fields: [
            ("stream", "string", "mixed, one-way or shared"),
            ("on", "boolean", "true before its first block, false after its last"),
            ("user", "string", "the user's name; only for one-way streams"),
            ("room", "string", "the user's room; only if the stream's ID contains it"),
        ])
}
