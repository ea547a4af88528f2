import GStreamer
import MediaGraphDescription
import MediaGraphDevices
import MediaGraphElements
import MediaGraphRoomLink
import MediaGraphSession
import Synchronization

/// The nodes as GStreamer elements of this process.
public enum Nodes {
    private static let outcome = Mutex<Result<Void, RegistrationError>?>(nil)

    static let all: [any NodeElement.Type] = ElementNodes.all + SessionNodes.all + DeviceNodes.all

    /// The nodes' names in descriptions.
    public static let factoryNames = all.map { $0.factoryName }

    /// Makes the nodes known to GStreamer under their factory names; `Graph` does so by itself. Any thread, any number of
    /// times.
    public static func register() throws(RegistrationError) {
        let result = outcome.withLock { outcome -> Result<Void, RegistrationError> in
            if let outcome { return outcome }
            ElementFactoryInfo.rankOut(DisplayCheck.directFB)
            let result = Result { () throws(RegistrationError) in try register(in: nil) }
            outcome = result
            return result
        }
        try result.get()
    }

    /// Makes the nodes features of a plugin file, from its `plugin_init`.
    public static func register(in plugin: Plugin?) throws(RegistrationError) {
        RoomTransportKind.register(.processes)
        KnownNodes.register(all)
        for node in all { try ElementClass.register(node, in: plugin) }
    }
}
