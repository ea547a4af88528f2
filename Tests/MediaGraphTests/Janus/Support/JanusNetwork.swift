import Foundation
import Testing

@testable import MediaGraphJanus
@testable import MediaGraphSession

/// Whether this process runs in a network of its own, where Janus has an address besides loopback, as `make test-network`
/// makes it. Janus never sends media over loopback.
enum JanusNetwork {
    static let isAvailable = ProcessInfo.processInfo.environment["MEDIAGRAPH_NETWORK"] != nil
    /// How many percent of the packets this network loses.
    static let loss = Int(ProcessInfo.processInfo.environment["MEDIAGRAPH_NETWORK_LOSS"] ?? "") ?? 0
    static let lossReason: Comment = "this network loses no packets; run: make test-network"
    static let reason: Comment = "media need a network of their own; run: make test-network"
}

extension JanusServer {
    /// The room of that name on this server. Two names of one server make two rooms in this process, whose users meet only
    /// on the server, as those of two programs do.
    func room(_ name: String) throws -> Room {
        var settings = RoomTransportSettings()
        settings.server = description
        return Room.named(name, over: try #require(RoomTransportKind.named("janus")), settings)
    }
}
