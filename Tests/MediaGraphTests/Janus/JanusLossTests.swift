import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphJanus
@testable import MediaGraphSession

/// Tests a Janus room in a network that loses packets, on the way to the server and from it.
@Suite(.enabled(if: JanusNetwork.loss > 0, JanusNetwork.lossReason), .timeLimit(.minutes(5)))
struct JanusLossTests {
    init() throws { try Nodes.register() }

    @Test("NW-4 a picture goes on through a network that loses packets, without a corrupt frame, and the loss is shown")
    func picture() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let bob = try Graph(
            """
            mediasession name=call transport=janus server=\(server.http) room=lobby user=bob \
            call.video_alice ! rawdatapipe name=pipe  call.audio_alice ! virtualspeaker handler=count
            """)
        let numbers = Log<UInt32?>()
        try bob.rawDataPipe("pipe").receive { numbers.add(try? TestFrame($0).number) }
        let alice = try Graph(
            """
            mediasession name=call transport=janus server=\(server.socket) room=lobby user=alice \
            videosource handler=counter options="width=640,height=360" ! call.camera \
            audiotestsrc is-live=true ! call.mic
            """)
        try await bob.start()
        try await alice.start()
        // Janus sends nothing again before it knows the round trip.
        #expect(try await eventually { numbers.all.count >= 100 })
        numbers.removeAll()
        #expect(try await eventually { numbers.all.count >= 300 })
        let received = numbers.all.compactMap(\.self)
        #expect(received.count == numbers.all.count, "a frame's number can't be read")
        #expect(zip(received, received.dropFirst()).allSatisfy { $0 < $1 })
        // Without retransmission, more than half are missing.
        let sent = received[received.count - 1] - received[0] + 1
        #expect(Double(received.count) / Double(sent) > 0.8, "\(received.count) of \(sent) frames")
        for graph in [alice, bob] {
            let streams = StreamStatistics.all(in: try graph.element("call").property("streams", as: Structure.self))
            let networks = streams.compactMap(\.network)
            #expect(networks.contains { $0.packetsLost > 0 && $0.packetLoss < 0.5 }, "\(networks)")
        }
        await alice.stop()
        await bob.stop()
    }
}
