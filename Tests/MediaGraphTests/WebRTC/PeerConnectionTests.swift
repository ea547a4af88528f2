import GStreamer
import MediaGraph
import Synchronization
import TestSupport
import Testing
import WebRTC

@Suite struct PeerConnectionTests {
    init() throws { try Nodes.register() }

    /// Frames with numbers, encoded.
    private static let camera = """
        videosource handler=counter options="width=320,height=180" ! vp8enc deadline=1 cpu-used=8 ! rtpvp8pay
        """

    @Test("NW-1: a connection carries numbered frames and texts in both directions")
    func mediaAndTexts() async throws {
        let (alice, bob) = try (Peer(sending: Self.camera), Peer())
        alice.connection.addDataChannel("texts")
        try await alice.call(bob)
        #expect(
            try await eventually { alice.isOpen.load(ordering: .acquiring) && bob.isOpen.load(ordering: .acquiring) })
        #expect(alice.connection.send("hello"))
        #expect(bob.connection.send("good morning"))
        #expect(try await eventually { bob.numbers.all.count >= 30 })
        #expect(try await eventually { bob.texts.all == ["hello"] && alice.texts.all == ["good morning"] })
        alice.stop()
        bob.stop()
        let numbers = bob.numbers.all
        #expect(!numbers.contains(nil), "a frame's number can't be read")
        // The source is live, and the first frames wait for the connection: some may be left out, but none comes twice.
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 ?? 0 < $1 ?? 0 })
        #expect(bob.states.all.contains(.connected))
    }

    @Test("NW-1: what isn't a session description is refused")
    func invalidDescription() async throws {
        let peer = try Peer()
        peer.pipeline.setState(.playing)
        await #expect(throws: PeerConnectionError.invalidDescription) {
            try await peer.connection.setRemote(SessionDescription(.offer, sdp: "nonsense"))
        }
        peer.stop()
    }

    @Test("NW-1: a request that a closed connection can't answer fails")
    func closed() async throws {
        let peer = try Peer(sending: Self.camera)
        peer.pipeline.setState(.playing)
        async let offer = peer.connection.makeOffer()
        peer.stop()
        // Either the offer was made just before, or the request fails; it mustn't hang.
        _ = try? await offer
        await #expect(throws: PeerConnectionError.closed) { try await peer.connection.makeOffer() }
    }

    @Test("SE-12 the statistics of a connection that is up count what it sends and receives")
    func statistics() async throws {
        let (alice, bob) = try (Peer(sending: Self.camera), Peer())
        try await alice.call(bob)
        #expect(try await eventually { bob.numbers.all.count >= 5 })
        // Retransmitted packets have an SSRC of their own.
        let sent = try #require(try await alice.connection.statistics().values.max { $0.packets < $1.packets })
        let received = try #require(try await bob.connection.statistics().values.max { $0.packets < $1.packets })
        #expect(sent.packets >= 5 && sent.bytes >= 5 * 20 && sent.jitter == nil)
        #expect(received.packets >= 5 && received.bytes >= 5 * 20 && received.jitter != nil)
        // Once the other side has reported.
        #expect(
            try await eventually {
                let statistics = try? await alice.connection.statistics()
                return statistics?.values.contains { $0.roundTripTime != nil } == true
            })
        alice.stop()
        bob.stop()
    }
}
