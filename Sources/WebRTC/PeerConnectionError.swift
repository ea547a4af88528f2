/// Why a `PeerConnection` couldn't do something.
package enum PeerConnectionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// An element is missing that `webrtcbin` needs.
    case missingElement(String)
    /// The text isn't a session description.
    case invalidDescription
    /// The connection has been closed.
    case closed
    /// `webrtcbin` refused, for this reason.
    case refused(String)

    package var description: String {
        switch self {
        case .missingElement(let name): "needs the element \(name)"
        case .invalidDescription: "the text isn't a session description (SDP)"
        case .closed: "the connection has been closed"
        case .refused(let reason): reason
        }
    }
}
