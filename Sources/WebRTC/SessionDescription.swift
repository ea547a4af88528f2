import CGStreamer
import CGStreamerSDP
import GStreamer

/// The description of a PeerConnection (JSEP): an offer or an answer.
package struct SessionDescription: Sendable, Hashable, Codable {
    package enum Kind: String, Sendable, Codable {
        case offer, answer
    }

    package var type: Kind
    /// The description in the format of RFC 8866.
    package var sdp: String

    package init(_ type: Kind, sdp: String) {
        self.type = type
        self.sdp = sdp
    }
}

/// An address at which a PeerConnection may be reached, as in `RTCIceCandidate`.
package struct ICECandidate: Sendable, Hashable, Codable {
    /// The candidate attribute (RFC 8839), without `a=`. `nil` if there are no more.
    package var candidate: String?
    package var sdpMid: String?
    /// The number of the m-line.
    package var sdpMLineIndex: Int?
    /// Set, and alone, after the last candidate.
    package var completed: Bool?

    package init(_ candidate: String, mLine: Int) { (self.candidate, sdpMLineIndex) = (candidate, mLine) }

    private init() { completed = true }

    /// Says that there are no more candidates.
    package static let end = ICECandidate()
}

/// `GstWebRTCSessionDescription`. Its library has no headers in the packages that compiling needs, but its type is
/// registered when `webrtcbin` is loaded.
private struct RawDescription {
    var type: Int32
    var sdp: UnsafeMutablePointer<GstSDPMessage>?
}

extension SessionDescription.Kind {
    /// The value of `GstWebRTCSDPType`.
    fileprivate var raw: Int32 {
        switch self {
        case .offer: 1
        case .answer: 3
        }
    }
}

extension SessionDescription {
    /// Reads the field of a promise's reply that has the name of the description's kind.
    init?(_ kind: Kind, in reply: UnsafePointer<GstStructure>) {
        guard let value = gst_structure_get_value(reply, kind.rawValue),
            let raw = g_value_get_boxed(value)?.assumingMemoryBound(to: RawDescription.self).pointee,
            let sdp = raw.sdp, let text = gst_sdp_message_as_text(sdp)
        else { return nil }
        defer { g_free(text) }
        self.init(kind, sdp: String(cString: text))
    }

    /// Calls `body` with a pointer to a `GstWebRTCSessionDescription`. Throws if the text isn't a description.
    func withRaw<R>(_ body: (UnsafeRawPointer) -> R) throws(PeerConnectionError) -> R {
        var message: UnsafeMutablePointer<GstSDPMessage>?
        // GStreamer accepts any text.
        guard sdp.hasPrefix("v=0"), gst_sdp_message_new_from_text(sdp, &message) == GST_SDP_OK, let message else {
            throw .invalidDescription
        }
        defer { gst_sdp_message_free(message) }
        let raw = RawDescription(type: type.raw, sdp: message)
        return withUnsafePointer(to: raw) { body($0) }
    }
}
