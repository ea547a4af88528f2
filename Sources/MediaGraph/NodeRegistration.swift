import GStreamer
import MediaGraphDescription
import MediaGraphDevices
import MediaGraphElements
import MediaGraphJanus
import MediaGraphRoomLink
import MediaGraphSession
import Synchronization

/// MediaGraph's nodes, which this process registers as GStreamer elements.
public enum Nodes {
    private static let outcome = Mutex<Result<Void, RegistrationError>?>(nil)

    static let all: [any NodeElement.Type] = ElementNodes.all + SessionNodes.all + DeviceNodes.all

    /// The names of all nodes in descriptions.
    public static let factoryNames = all.map { $0.factoryName }

    /// Registers the nodes with GStreamer under their factory names. ``Graph`` does this automatically. Callable from
    /// any thread, any number of times.
    public static func register() throws(RegistrationError) {
        let result = outcome.withLock { outcome -> Result<Void, RegistrationError> in
            if let outcome { return outcome }
            ElementFactoryInfo.clearRank(DisplayCheck.directFB)
            let result = Result { () throws(RegistrationError) in try register(in: nil) }
            outcome = result
            return result
        }
        try result.get()
    }

    /// Registers the nodes as features of a plugin file. Called from the plugin's `plugin_init`.
    public static func register(in plugin: Plugin?) throws(RegistrationError) {
        RoomTransportKind.register(.roomLink)
        RoomTransportKind.register(.janus)
        KnownNodes.register(all)
        for node in all { try ElementClass.register(node, in: plugin) }
    }
}
