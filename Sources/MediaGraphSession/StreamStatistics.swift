import GStreamer
import MediaGraphCore
import MediaGraphElements

/// The numbers of one stream that a session's user sends, or that the session reads, in one second (Zoom's
/// `ZoomVideoSDKVideoStatisticInfo`, Agora's `LocalVideoStats` and `RemoteVideoStats`, ZEGO's `ZegoPlayStreamQuality`).
public struct StreamStatistics: Sendable, Hashable {
    /// Whether the session's user sends the stream, or the session reads it.
    public enum Direction: String, Sendable, CaseIterable {
        case sent, received
    }

    /// The name of the user who sends the stream.
    public var user: String
    /// Which of the user's streams it is.
    public var stream: UserStream
    /// Whether the session's user sends the stream, or the session reads it.
    public var direction: Direction
    /// Frames, or blocks of sound, in each second. A reader counts the frames that it outputs.
    public var framesPerSecond: Double
    /// Bits in each second, as the sender sends them: of raw media if it isn't encoded.
    public var bitsPerSecond: Double
    /// The width in pixels of the frames as sent; `nil` for sound, and before the format is known.
    public var width: Int?
    /// The height in pixels.
    public var height: Int?
    /// The number of frames, or blocks of sound, since the user joined.
    public var frames: UInt64
    /// Their bytes.
    public var bytes: UInt64
    /// Frames, or blocks of sound, dropped since the user joined: for a sent stream, because a reader in another process was
    /// too slow or another user shared; for a received one, because this session was too slow or couldn't show them.
    public var lost: UInt64
    /// The stream's numbers on the network; `nil` if it doesn't cross one, and in its first seconds.
    public var network: NetworkStatistics?

    /// Creates statistics.
    public init(
        user: String, stream: UserStream, direction: Direction, framesPerSecond: Double = 0, bitsPerSecond: Double = 0,
        width: Int? = nil, height: Int? = nil, frames: UInt64 = 0, bytes: UInt64 = 0, lost: UInt64 = 0,
        network: NetworkStatistics? = nil
    ) {
        (self.user, self.stream, self.direction) = (user, stream, direction)
        (self.framesPerSecond, self.bitsPerSecond) = (framesPerSecond, bitsPerSecond)
        (self.width, self.height) = (width, height)
        (self.frames, self.bytes, self.lost, self.network) = (frames, bytes, lost, network)
    }
}

extension StreamStatistics {
    /// Creates statistics from counters, without rates.
    init(
        _ key: StreamKey, _ direction: Direction, _ counters: NodeStatistics, lost: UInt64, _ format: StreamFormat?
    ) {
        func size(_ field: String) -> Int? { format?.caps[0][field, as: Int32.self].map(Int.init) }
        // Before the bytes, which are counted before the frame.
        let frames = counters.frames.load(ordering: .acquiring)
        self.init(
            user: key.user, stream: key.kind.stream, direction: direction, width: size("width"),
            height: size("height"), frames: frames, bytes: counters.bytes.load(ordering: .relaxed), lost: lost)
    }

    /// The statistics as a field of `streams`, the property and the message of `mediasession`.
    var structure: Structure {
        let size = [("width", width), ("height", height)].compactMap { name, value in
            value.map { (name, Int32($0) as any ValueConvertible) }
        }
        return Structure(
            "mediagraph-stream",
            [
                ("user", user), ("kind", stream.rawValue), ("direction", direction.rawValue),
                ("frames-per-second", framesPerSecond), ("bits-per-second", bitsPerSecond),
            ] + size + [("frames", frames), ("bytes", bytes), ("lost", lost)] + (network?.fields ?? []))
    }

    init?(_ structure: Structure) {
        guard let user: String = structure["user"],
            let stream = structure["kind", as: String.self].flatMap(UserStream.init),
            let direction = structure["direction", as: String.self].flatMap(Direction.init)
        else { return nil }
        self.init(
            user: user, stream: stream, direction: direction, framesPerSecond: structure["frames-per-second"] ?? 0,
            bitsPerSecond: structure["bits-per-second"] ?? 0,
            width: structure["width", as: Int32.self].map(Int.init),
            height: structure["height", as: Int32.self].map(Int.init), frames: structure["frames"] ?? 0,
            bytes: structure["bytes"] ?? 0, lost: structure["lost"] ?? 0, network: NetworkStatistics(structure))
    }

    /// Returns the statistics of all streams in the property or message, in its order.
    package static func all(in structure: Structure) -> [StreamStatistics] {
        structure.fieldNames.compactMap { structure[$0, as: Structure.self].flatMap(StreamStatistics.init) }
    }
}
