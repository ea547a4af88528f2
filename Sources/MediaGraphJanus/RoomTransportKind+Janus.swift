import MediaGraphCore
import MediaGraphSession

extension RoomTransportKind {
    /// ``JanusLink``, the transport through a Janus server: `transport=janus`.
    package static let janus = RoomTransportKind(
        name: "janus", summary: "reaches programs on other machines, through the Janus server that server names",
        remedy: "check that the server runs and that its address is right",
        check: { (settings, sending) throws(MediaGraphError) in
            _ = try JanusSettings(settings)
            if !sending.videoEncoder.isEmpty { _ = try MediaFormat.codec(ofEncoder: sending.videoEncoder) }
        }
    ) { (room, settings, delegate) throws(MediaGraphError) in
        JanusLink(room, try JanusSettings(settings), delegate: delegate)
    }
}
