import MediaGraphCore
import MediaGraphSession

extension RoomTransportKind {
    /// ``RoomLink``, the transport between the processes of one user on one machine: `transport=room`, the default.
    package static let roomLink = RoomTransportKind(
        name: defaultName,
        summary:
            "reaches other programs of your account on this machine; needs no installation",
        remedy: RoomDirectory.mend
    ) { (room, _, delegate) throws(MediaGraphError) in RoomLink(in: RoomDirectory(room: room), delegate: delegate) }
}
