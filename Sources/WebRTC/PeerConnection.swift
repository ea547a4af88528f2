import CGStreamer
import GStreamer
import Synchronization

/// A WebRTC connection: an element `webrtcbin`, its signals and its promises.
///
/// Use it like an `RTCPeerConnection`, but never renegotiate: `webrtcbin` 1.22 doesn't support it.
package final class PeerConnection: Sendable {
    package enum State: Int32, Sendable {
        case new, connecting, connected, disconnected, failed, closed
    }

    package enum Event: Sendable {
        /// The other side should know this address.
        case candidate(ICECandidate)
        case state(State)
        /// Media of an m-line begins to arrive. Link the pad before the handler returns: buffers follow at once.
        case media(Pad, mLine: Int)
        /// Messages can be sent from now on.
        case channelOpened
        /// A message has arrived through the data channel.
        case text(String)
        case channelClosed
    }

    private struct Parts: Sendable {
        /// The data channels that this side has made, or that the other side has.
        var channels: [ObjectReference] = []
        /// The channel to send with, once it is open.
        var open: ObjectReference?
        /// The jitter buffers of what is received.
        var jitterBuffers: [WeakElement] = []
        var soundLatency: UInt32 = 200
        var isClosed = false
        var handler: (@Sendable (Event) -> Void)?
    }

    /// The `webrtcbin`. Put it into a pipeline, and bring that to READY or higher, before you do anything else.
    package let element: Element
    private let replies = Replies()
    private let parts = Mutex(Parts())

    /// Makes a connection. Throws `missingElement`.
    package init() throws(PeerConnectionError) {
        // Without it, `webrtcbin` can't leave NULL.
        guard ElementFactoryInfo.find("nicesink") != nil else {
            throw .missingElement("nicesink; install gstreamer1.0-nice")
        }
        guard let element = Element(factory: "webrtcbin") else {
            throw .missingElement("webrtcbin; install gstreamer1.0-plugins-bad")
        }
        self.element = element
        element.configure("bundle-policy", parsing: "max-bundle")
        disableUPnPAndTCP()
        watch()
    }

    /// Calls `handler` for each event, on any of `webrtcbin`'s threads, until `close`. The handler mustn't block, and mustn't
    /// release the last reference to the pipeline. Call this before the first description.
    package func onEvent(_ handler: @escaping @Sendable (Event) -> Void) {
        parts.withLock { if !$0.isClosed { $0.handler = handler } }
    }

    private func handle(_ event: Event) { parts.withLock { $0.handler }?(event) }

    /// The servers that find out this machine's public address or relay media: `stun://HOST:PORT` and
    /// `turn://USER:PASSWORD@HOST:PORT`. Empty if there is none.
    package func setServers(stun: String, turn: String) {
        if !stun.isEmpty { element.configure("stun-server", to: stun) }
        if !turn.isEmpty { element.configure("turn-server", to: turn) }
    }

    /// Sets how long the receiver waits for lost and reordered packets, in milliseconds. Lost video is requested again; lost
    /// sound isn't, since Janus 1.1.2 doesn't keep it, and each request for it would delay one for video.
    package func setLatency(video: UInt32, sound: UInt32) {
        parts.withLock { $0.soundLatency = sound }
        element.configure("latency", to: video)
    }

    /// Uses this address alone, such as 127.0.0.1, instead of those of the network interfaces. Call it before the first
    /// description.
    package func useAddress(_ address: String) {
        element.objectProperty("ice-agent")?.emit("add-local-ip-address", .string(address))
    }

    /// Keeps libnice from asking the router for an open port (UPnP), and from ICE over TCP, which Janus doesn't offer.
    private func disableUPnPAndTCP() {
        let agent = element.objectProperty("ice-agent")?.objectProperty("agent")
        agent?.setBool("upnp", false)
        agent?.setBool("ice-tcp", false)
    }

    private func watch() {
        element.onSignal("on-ice-candidate") { [weak self] arguments in
            guard let self, let mLine: UInt32 = arguments[0], let text: String = arguments[1], !text.isEmpty else {
                return
            }
            handle(.candidate(ICECandidate(text, mLine: Int(mLine))))
        }
        element.onSignal("pad-added") { [weak self] arguments in
            guard let self,
                let pad = arguments.object(0).map({ Pad(retaining: $0.assumingMemoryBound(to: GstPad.self)) }),
                pad.direction == .source,
                let transceiver = pad.objectProperty("transceiver")
            else { return }
            if transceiver.enumValue("kind") == Self.audio { configureSound(pad) }
            handle(.media(pad, mLine: Int(transceiver.uint32("mlineindex"))))
        }
        // Requests retransmission of lost packets (NACK), which GStreamer 1.22 doesn't do by default. Set everywhere, because
        // 1.22 uses the last m-line's value for all that is received.
        element.onSignal("on-new-transceiver") { arguments in
            arguments.object(0).map { ObjectReference(retaining: $0) }?.setBool("do-nack", true)
        }
        element.onSignal("deep-element-added") { [weak self] arguments in
            guard let part = arguments.object(1).map({ Element(retaining: $0) }) else { return }
            switch part.typeName {
            case "GstRtpSession":
                part.configure("rtcp-min-interval", to: UInt64(Self.reportInterval.nanoseconds))
                part.configure("rtcp-fraction", to: Self.rtcpBitsPerSecond)
            case "GstRtpJitterBuffer":
                let buffer = WeakElement(ElementInstance(UnsafeMutableRawPointer(part.element)))
                self?.parts.withLock { $0.jitterBuffers.append(buffer) }
            // Sends what the session has made.
            case "TransportSendBin": part.staticPad("rtcp_sink")?.setTap(RTCPSplitter())
            default: break
            }
        }
        // Channels of both sides, before they open.
        element.onSignal("prepare-data-channel") { [weak self] arguments in
            guard let channel = arguments.object(0) else { return }
            self?.watch(ObjectReference(retaining: channel))
        }
        element.watchProperty("connection-state") { [weak self] in
            guard let self, let state = State(rawValue: element.enumValue("connection-state")) else { return }
            handle(.state(state))
        }
    }

    /// Turns off requests for lost packets of the sound that is received at a pad, and sets its jitter buffer's latency.
    private func configureSound(_ pad: Pad) {
        guard let ssrc: UInt32 = pad.currentCaps?[0]["ssrc"] else { return }
        let buffer = jitterBuffer(of: ssrc)
        buffer?.configure("do-retransmission", to: false)
        buffer?.configure("latency", to: parts.withLock { $0.soundLatency })
    }

    /// The jitter buffer of what is received with this SSRC; `nil` if there is none.
    func jitterBuffer(of ssrc: UInt32) -> Element? {
        parts.withLock { $0.jitterBuffers }.lazy.compactMap(\.element).first {
            $0.staticPad("sink")?.currentCaps?[0]["ssrc"] == ssrc
        }
    }

    private func watch(_ channel: ObjectReference) {
        let isClosed = parts.withLock { parts in
            if !parts.isClosed { parts.channels.append(channel) }
            return parts.isClosed
        }
        guard !isClosed else { return }
        // Weak, because the channel retains its handlers.
        channel.onSignal("on-open") { [weak self, weak channel] _ in
            guard let self, let channel else { return }
            parts.withLock { $0.open = $0.open ?? channel }
            handle(.channelOpened)
        }
        channel.onSignal("on-message-string") { [weak self] arguments in
            if let text: String = arguments[0] { self?.handle(.text(text)) }
        }
        channel.onSignal("on-close") { [weak self, weak channel] _ in
            guard let self, let channel else { return }
            parts.withLock { parts in
                parts.channels.removeAll { $0 === channel }
                if parts.open === channel { parts.open = nil }
            }
            handle(.channelClosed)
        }
    }

    // MARK: Negotiation

    /// Adds an m-line that sends media in this format. Returns the pad to feed; `nil` if `webrtcbin` refuses.
    ///
    /// Don't use the action `add-transceiver`: a requested pad of 1.22 never takes the transceiver that it has made, but
    /// makes one without a format, and `create-offer` then loops for ever.
    package func addMedia(_ caps: Caps, mLine: Int) -> Pad? {
        guard let pad = element.requestPad("sink_%u", named: "sink_\(mLine)", caps),
            let transceiver = pad.objectProperty("transceiver")
        else { return nil }
        transceiver.setBoxed("codec-preferences", caps.raw, of: gst_caps_get_type())
        transceiver.setEnum("direction", Self.sendOnly)
        // Janus drops packets of sound that are sent again (RTX). Opus has redundancy of its own.
        if transceiver.enumValue("kind") == Self.audio { transceiver.setBool("do-nack", false) }
        return pad
    }

    /// The approximate interval between RTCP reports. Janus keeps packets for retransmission only after it has received a report,
    /// which takes up to 7.5 s by default.
    private static let reportInterval = Duration.milliseconds(500)

    /// The bandwidth for RTCP. The default is 5 % of the media's bit rate, which `webrtcbin` 1.22 learns too late; until then,
    /// requests for lost packets and the reports after them are delayed.
    private static let rtcpBitsPerSecond = 50_000.0

    /// `GST_WEBRTC_KIND_AUDIO`.
    private static let audio: Int32 = 1

    /// `GST_WEBRTC_RTP_TRANSCEIVER_DIRECTION_SENDONLY`.
    private static let sendOnly: Int32 = 2

    /// Adds an m-line of a data channel, and opens the channel once the connection is up.
    package func addDataChannel(_ label: String) {
        if let raw = element.emit("create-data-channel", .string(label), .boxed(nil)) {
            // `webrtcbin` and `parts` have their own references.
            _ = ObjectReference(taking: raw)
        }
    }

    package func makeOffer() async throws(PeerConnectionError) -> SessionDescription { try await make(.offer) }

    /// Answers the other side's offer.
    package func makeAnswer() async throws(PeerConnectionError) -> SessionDescription { try await make(.answer) }

    private func make(_ kind: SessionDescription.Kind) async throws(PeerConnectionError) -> SessionDescription {
        let description = try await reply { promise in
            element.emit("create-\(kind.rawValue)", .boxed(nil), .boxed(promise))
        } reading: {
            SessionDescription(kind, in: $0)
        }
        guard let description else { throw .refused("webrtcbin made no \(kind.rawValue)") }
        return description
    }

    package func setLocal(_ description: SessionDescription) async throws(PeerConnectionError) {
        try await set("set-local-description", description)
    }

    package func setRemote(_ description: SessionDescription) async throws(PeerConnectionError) {
        try await set("set-remote-description", description)
    }

    private func set(_ signal: String, _ description: SessionDescription) async throws(PeerConnectionError) {
        // Checked first: if the signal isn't emitted, nothing answers the promise.
        try description.withRaw { _ in }
        _ = try await reply { promise in
            _ = try? description.withRaw { element.emit(signal, .boxed($0), .boxed(promise)) }
        } reading: { _ in
            ()
        }
    }

    /// Adds a remote ICE candidate. Does nothing for the end of the candidates, which `webrtcbin` needn't know.
    package func add(_ candidate: ICECandidate) {
        guard let text = candidate.candidate, !text.isEmpty else { return }
        element.emit("add-ice-candidate", .unsigned(UInt32(candidate.sdpMLineIndex ?? 0)), .string(text))
    }

    /// Returns the statistics (`get-stats`), as `webrtcbin` names them.
    func report() async throws(PeerConnectionError) -> Structure {
        try await reply { promise in
            element.emit("get-stats", .object(nil), .boxed(promise))
        } reading: {
            Structure(copying: $0)
        }
    }

    /// Waits for the reply to a promise. Throws `closed` if there is none, and `refused` if it is an error.
    private func reply<Value: Sendable>(
        to ask: (UnsafeRawPointer) -> Void, reading read: @escaping @Sendable (UnsafePointer<GstStructure>) -> Value
    ) async throws(PeerConnectionError) -> Value {
        try await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Value, PeerConnectionError>, Never>) in
            // If the connection is closed in between, `webrtcbin` answers at once.
            guard !parts.withLock({ $0.isClosed }) else { return continuation.resume(returning: .failure(.closed)) }
            replies.request(ask) { result in
                continuation.resume(
                    returning: Result { () throws(PeerConnectionError) in
                        switch result {
                        case .expired: throw .closed
                        case .refused(let reason): throw .refused(reason)
                        case .replied(let structure): return read(structure)
                        }
                    })
            }
        }.get()
    }

    // MARK: The data channel

    /// How many bytes wait to be sent through the data channel.
    package var bufferedAmount: UInt64 {
        parts.withLock { $0.open }?.uint64("buffered-amount") ?? 0
    }

    /// Sends a text through the data channel, without waiting. The text mustn't be empty: `webrtcbin` 1.22 would close the
    /// channel. Returns false if the channel isn't open.
    package func send(_ text: String) -> Bool {
        precondition(!text.isEmpty, "an empty text closes the channel")
        guard let channel = parts.withLock({ $0.open }) else { return false }
        channel.emit("send-string", .string(text))
        return true
    }

    // MARK: Closing

    /// Gives up all that is under way. Call it after the element has been brought to NULL, which blocks and waits for
    /// the handlers of events.
    package func close() {
        let old = parts.withLock { parts in
            defer { parts = Parts(isClosed: true) }
            return parts
        }
        // Released without the lock.
        withExtendedLifetime(old) { replies.expire() }
    }
}
