import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization
import WebRTC

/// A local user's feed: the PeerConnection that sends the user's cameras and microphone, each while a remote user wants it,
/// and messages. A share is a feed of its own.
final class OutgoingFeed: Feed {
    let connection: PeerConnection
    private let pipeline: Pipeline
    /// The kinds of the m-lines, in order. The data channel's m-line follows.
    private let kinds: [StreamKind]
    private let streams: [StreamKind: OutgoingStream]
    private let isClosed = Mutex(false)

    static let dataChannelLabel = "mediagraph"

    /// - Parameters:
    ///   - user: The local user.
    ///   - kinds: What the user may send.
    ///   - format: Returns how a stream is sent.
    ///   - hasDataChannel: Whether the feed also carries messages.
    ///   - changed: Called on a streaming thread with changes of a stream.
    ///   - report: Called on any thread with problems of the elements.
    init(
        _ user: String, sending kinds: Set<StreamKind>,
        as format: (StreamKind) throws(MediaGraphError) -> MediaFormat, withDataChannel hasDataChannel: Bool,
        servers: ICEServers, clock: TimerClock,
        changed: @escaping @Sendable (StreamKind, OutgoingStream.Change) -> Void,
        report: @escaping @Sendable (FeedProblem) -> Void
    ) throws(MediaGraphError) {
        let pipeline = Pipeline()
        let connection = try PeerConnection.make()
        self.kinds = StreamKind.allCases.filter { kinds.contains($0) }
        (self.pipeline, self.connection) = (pipeline, connection)
        connection.setServers(stun: servers.stun, turn: servers.turn)
        pipeline.useClock(.system)
        pipeline.watch(report)
        pipeline.add(connection.element)
        pipeline.setState(.ready)
        var streams: [StreamKind: OutgoingStream] = [:]
        for (mLine, kind) in self.kinds.enumerated() {
            let format = try format(kind)
            guard let caps = format.caps,
                let pad = connection.addMedia(caps, mLine: mLine)
            else {
                throw .processingFailed(.init("\(user)'s \(kind.rawValue)", actual: "webrtcbin refuses its m-line"))
            }
            streams[kind] = try OutgoingStream(
                StreamKey(user: user, kind: kind), format, to: pad, in: pipeline, clock: clock,
                report: { changed(kind, $0) })
        }
        self.streams = streams
        if hasDataChannel { connection.addDataChannel(Self.dataChannelLabel) }
    }

    /// Starts the elements, and offers the feed. Returns the offer, and by its mid what each m-line is.
    func offer() async throws(PeerConnectionError) -> (offer: SessionDescription, descriptions: [String: String]) {
        guard start() else { throw .closed }
        let offer = try await connection.makeOffer()
        try await connection.setLocal(offer)
        let names = kinds.map(\.rawValue) + [Self.dataChannelLabel]
        return (offer, Dictionary(zip(offer.mids, names)) { first, _ in first })
    }

    /// Starts the elements, unless they have ended. Returns whether it has.
    private func start() -> Bool {
        isClosed.withLock { isClosed in
            if !isClosed { pipeline.setState(.playing) }
            return !isClosed
        }
    }

    /// What receivers need to know about the streams' packets.
    var details: [StreamKind: OutgoingPackets.Details] { streams.mapValues(\.details) }

    /// The streams' SSRCs.
    var ssrcs: [StreamKind: UInt32] { streams.mapValues(\.ssrc) }

    /// Sets the highest resolution of a stream that a remote user wants; `nil` if nobody wants the stream.
    func setDemand(_ demand: Resolution?, of stream: RoomStream) {
        streams[stream.key.kind]?.setDemand(demand, of: stream)
    }

    func close(then completion: @escaping @Sendable () -> Void) {
        isClosed.withLock { $0 = true }
        for stream in streams.values { stream.stop() }
        end(pipeline, of: connection, then: completion)
    }
}
