import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization
import WebRTC

/// A remote user's feed: the PeerConnection through which the user's media and messages arrive.
final class IncomingFeed: Feed {
    let subscription: VideoRoom.Subscription
    let connection: PeerConnection
    private let pipeline: Pipeline
    /// What each m-line is, by its number.
    private let kinds: [Int: StreamKind]
    private let streams: [StreamKind: IncomingStream]
    /// The IDs of the header extension with the orientation, by m-line.
    private let orientationIDs: [Int: UInt8]
    private let pads = Mutex<[StreamKind: Pad]>([:])
    private let report: @Sendable (FeedProblem) -> Void

    /// How long the jitter buffer waits for lost and reordered packets of sound, in milliseconds. Readers take this as the
    /// latency of all streams.
    static let soundLatency: UInt32 = 100

    /// The same for video. If a retransmitted packet is lost too, Janus 1.1.2 retransmits it no sooner than 200 ms later. The frame
    /// is then too late to be shown, but the frames after it can be decoded.
    static let videoLatency: UInt32 = 300

    /// - Parameters:
    ///   - subscription: The server's offer.
    ///   - isShare: Whether it is a feed of a share, or else of cameras and a microphone. Others are left out.
    ///   - stream: Returns the stream to write to.
    ///   - state: Returns what the user has announced of a stream; `nil` before that.
    ///   - decodes: Returns whether the stream is to be decoded.
    ///   - report: Called on any thread with problems of the elements.
    init(
        _ subscription: VideoRoom.Subscription, isShare: Bool, servers: ICEServers, stream: (StreamKind) -> RoomStream,
        state: (StreamKind) -> UserState.Stream?, decodes: (StreamKind) -> Bool,
        report: @escaping @Sendable (FeedProblem) -> Void
    ) throws(MediaGraphError) {
        pipeline = Pipeline()
        connection = try PeerConnection.make()
        (self.subscription, self.report) = (subscription, report)
        kinds = subscription.kinds(ofShare: isShare)
        orientationIDs = subscription.offer.extensionIDs(VideoOrientation.extensionURI)
        var streams: [StreamKind: IncomingStream] = [:]
        let sync = StreamSync()
        for kind in kinds.values {
            streams[kind] = IncomingStream(stream(kind), state(kind), decodes: decodes(kind), sync: sync)
        }
        self.streams = streams
        connection.setServers(stun: servers.stun, turn: servers.turn)
        connection.setLatency(video: Self.videoLatency, sound: Self.soundLatency)
        pipeline.useClock(.system)
        pipeline.watch(report)
        pipeline.add(connection.element)
        pipeline.setState(.ready)
        pipeline.setState(.playing)
        // Janus sends messages only to subscribers who have opened a channel too.
        if subscription.streams.contains(where: { $0.kind == .data }) {
            connection.addDataChannel(OutgoingFeed.dataChannelLabel)
        }
    }

    /// The kinds of media that the user sends.
    var sent: Set<StreamKind> { Set(kinds.values) }

    /// Answers the server's offer.
    func answer() async throws(PeerConnectionError) -> SessionDescription {
        try await connection.setRemote(subscription.offer.withoutFIR)
        let answer = try await connection.makeAnswer()
        try await connection.setLocal(answer)
        return answer.adding(extension: VideoOrientation.extensionURI, orientationIDs)
    }

    /// Returns for each m-line, by its mid, whether the server should send its stream.
    func activeStreams(_ wanted: Set<StreamKind>) -> [String: Bool] {
        var active: [String: Bool] = [:]
        for stream in subscription.streams {
            guard let mid = stream.mid, let mLine = stream.mLine, let kind = kinds[mLine] else { continue }
            active[mid] = wanted.contains(kind)
        }
        return active
    }

    /// Decodes a pad's media into its stream. Called on one of the connection's threads.
    func decode(_ pad: Pad, mLine: Int) {
        let caps = pad.currentCaps
        let encoding = caps?[0]["encoding-name", as: String.self] ?? ""
        JanusRoom.log.log(.debug, pipeline, "m-line \(mLine) begins: \(encoding)")
        guard let kind = kinds[mLine], let stream = streams[kind], let caps,
            stream.connect(pad, caps, encoding, orientationID: orientationIDs[mLine], in: pipeline)
        else {
            report(.warning("can't decode \(encoding.isEmpty ? "an unknown format" : encoding)"))
            return drain(pad)
        }
        pads.withLock { $0[kind] = pad }
    }

    /// Drops what arrives at a pad: an unlinked pad would stop the feed's other streams.
    private func drain(_ pad: Pad) {
        guard let sink = Element(factory: "fakesink"), let input = sink.staticPad("sink") else { return }
        sink.configure("sync", to: false)
        sink.configure("async", to: false)
        pipeline.add(sink)
        sink.syncState()
        _ = pad.link(to: input)
    }

    /// The SSRCs of the streams that have arrived.
    var ssrcs: [StreamKind: UInt32] {
        pads.withLock { $0 }.compactMapValues { $0.currentCaps?[0]["ssrc"] }
    }

    /// Records whether the user sends a stream.
    func setAllowed(_ isOn: Bool, _ kind: StreamKind) { streams[kind]?.setAllowed(isOn) }

    /// Sets whether a stream is to be decoded.
    func setDecodes(_ decodes: Bool, _ kind: StreamKind) {
        if streams[kind]?.setDecodes(decodes) == true { requestKeyFrame(kind) }
    }

    /// Records what the user has announced of a stream's packets.
    func setDetails(_ details: OutgoingPackets.Details, _ kind: StreamKind) { streams[kind]?.setDetails(details) }

    /// Asks the sender for a key frame.
    func requestKeyFrame(_ kind: StreamKind) { pads.withLock { $0[kind] }?.peer?.requestKeyFrame() }

    func close(then completion: @escaping @Sendable () -> Void) {
        // Another feed may write to the streams from now on.
        for stream in streams.values { stream.silence() }
        end(pipeline, of: connection) { [streams] in
            for stream in streams.values { stream.close() }
            completion()
        }
    }
}

extension VideoRoom.Subscription {
    /// What the m-lines are, by their numbers: what the sender calls them, or else cameras and a microphone in the order in
    /// which they come.
    func kinds(ofShare isShare: Bool) -> [Int: StreamKind] {
        var free: [VideoRoomEvent.Stream.Kind: [StreamKind]] =
            isShare
            ? [.video: [.share], .audio: [.shareAudio]] : [.video: [.camera, .cameraAux], .audio: [.microphone]]
        var kinds: [Int: StreamKind] = [:]
        for stream in streams {
            guard let mLine = stream.mLine, let media = stream.kind, media != .data, !stream.isDisabled else {
                continue
            }
            let named = stream.description.flatMap(StreamKind.init(rawValue:)).flatMap { kind in
                kind.isSound == (media == .audio) && kind.isShare == isShare ? kind : nil
            }
            guard let kind = named ?? free[media]?.first, !kinds.values.contains(kind) else { continue }
            free[media]?.removeAll { $0 == kind }
            kinds[mLine] = kind
        }
        return kinds
    }
}
