import Foundation
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphJanus
@testable import MediaGraphSession

/// Tests what frames carry besides their picture through a real Janus server.
@Suite(.enabled(if: JanusNetwork.isAvailable, JanusNetwork.reason), .timeLimit(.minutes(5)))
struct JanusFrameTests {
    init() throws { try Nodes.register() }

    /// What a frame says of itself.
    private struct Seen: Sendable, Hashable {
        let number: UInt32
        let orientation: VideoOrientation
        let rotation: Rotation
        let flip: Flip
        let captureTime: Date?

        init?(_ frame: borrowing VideoFrame) {
            guard let number = try? TestFrame(frame).number else { return nil }
            self.number = number
            (rotation, flip, captureTime) = (frame.rotation, frame.flip, frame.captureTime)
            orientation = VideoOrientation(flip).followed(by: VideoOrientation(rotation))
        }
    }

    /// Returns alice's graph, which sends these frames. Her camera is also read by herself, without the server.
    private func alice(_ server: JanusServer, _ options: String = "", sending frames: [TestFrame]) throws -> Graph {
        let graph = try Graph(
            """
            mediasession name=call transport=janus server=\(server) room=lobby user=alice \(options) \
            videosource name=camera ! call.camera
            """)
        try graph.videoSource("camera").attach(FrameListSource(frames, rate: Fraction(30, 1)))
        return graph
    }

    /// Returns bob's graph, which records alice's frames.
    private func bob(_ server: JanusServer, _ seen: Log<Seen?>) throws -> Graph {
        let graph = try Graph(
            """
            mediasession name=call transport=janus server=\(server) room=lobby user=bob \
            call.video_alice ! rawdatapipe name=pipe
            """)
        try graph.rawDataPipe("pipe").receive { seen.add(Seen($0)) }
        return graph
    }

    @Test(
        "SE-7 a frame's rotation, and the mirror mode, cross a Janus room on the very frame", arguments: [false, true])
    func orientation(isMirrored: Bool) async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        func rotation(_ number: UInt32) -> Rotation { Rotation.allCases[Int(number) / 7 % 4] }
        let frames = try (0..<300).map { number in
            var frame = try TestFrame.numbered(UInt32(number))
            frame.rotation = rotation(UInt32(number))
            return frame
        }
        let seen = Log<Seen?>()
        let bob = try bob(server.http, seen)
        try await bob.start()
        let alice = try alice(server.socket, "mirror=\(isMirrored ? "both" : "none")", sending: frames)
        try await alice.start()
        #expect(try await eventually { seen.all.last??.number ?? 0 > 200 })
        #expect(!seen.all.contains(nil), "a frame's number can't be read")
        let received = seen.all.compactMap(\.self)
        let wrong = received.filter { frame in
            let sent = VideoOrientation(rotation(frame.number))
            let mirror = isMirrored ? Flip.mirroring(sent) : .none
            guard frame.orientation == VideoOrientation(mirror).followed(by: sent) else { return true }
            // The first frames may come before alice has announced the mirror mode.
            return frame.number > received[0].number + 60
                && (frame.rotation != rotation(frame.number) || frame.flip != mirror)
        }
        #expect(wrong == [])
        #expect(Set(received.map(\.rotation)) == Set(Rotation.allCases))
        await alice.stop()
        await bob.stop()
    }

    /// Gives frames the time of capture that a camera with this wall-clock time at the graph's start would give.
    ///
    /// `@unchecked Sendable`: has a constant only.
    private final class CaptureStamp: PadTap, @unchecked Sendable {
        static let start: UInt64 = 1_700_000_000_000_000_000

        override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
            buffer.makeWritable()
            let time = buffer.access.presentationTimestamp?.nanoseconds ?? 0
            buffer.access.setCaptureTime(unixNanoseconds: Self.start + time)
            return .ok
        }
    }

    @Test("SE-7 NW-4 a frame that has crossed a Janus room has the time of capture that its sender gave it")
    func captureTime() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let seen = Log<Seen?>()
        let bob = try bob(server.http, seen)
        try await bob.start()
        let frames = try (0..<300).map { try TestFrame.numbered(UInt32($0)) }
        let alice = try alice(server.socket, sending: frames)
        try alice.element("call").staticPad("camera")?.setTap(CaptureStamp())
        try await alice.start()
        let isKnown = try await eventually { seen.all.filter { $0?.captureTime != nil }.count >= 60 }
        #expect(isKnown)
        let received = seen.all.compactMap(\.self)
        // The first frames may come before alice has announced the time.
        #expect(received.prefix(60).contains { $0.captureTime != nil })
        let wrong = received.filter { frame in
            guard let time = frame.captureTime else { return frame.number > received[0].number + 60 }
            let sent = Date(unixNanoseconds: CaptureStamp.start + UInt64(frame.number) * 1_000_000_000 / 30)
            return abs(time.timeIntervalSince(sent)) > 0.001
        }
        #expect(wrong == [])
        await alice.stop()
        await bob.stop()
    }

    @Test(
        "NW-4 picture and sound that cross a Janus room are in step, although one is sent later, and none is dropped",
        arguments: [(150, 0), (0, 300)])
    func step(pictureDelay: Int, soundDelay: Int) async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let bob = try Graph(
            """
            mediasession name=call transport=janus server=\(server.http) room=lobby user=bob \
            call.video_alice ! rawdatapipe name=pipe  call.audio_alice ! virtualspeaker name=speaker
            """)
        let (watch, delays) = (BeepAndFlashWatch(), Log<Double>())
        try bob.rawDataPipe("pipe").receive { frame in
            guard let time = frame.runningTime, let number = try? TestFrame(frame).number else { return }
            delays.add(time.seconds - Double(number) / 25)
        }
        try bob.virtualSpeaker("speaker").receive { frame, channel in
            if case .oneWay = channel { watch.listen(to: frame) }
        }
        try await bob.start()
        let film = BeepAndFlash()
        func queue(_ delay: Int) -> String {
            "queue min-threshold-time=\(delay)000000 max-size-buffers=0 max-size-bytes=0 max-size-time=1000000000"
        }
        let alice = try Graph(
            """
            mediasession name=call transport=janus server=\(server.socket) room=lobby user=alice \
            videosource name=camera ! \(queue(pictureDelay)) ! call.camera \
            virtualmic name=mic ! \(queue(soundDelay)) ! call.mic
            """)
        try alice.videoSource("camera").attach(film.camera)
        try alice.virtualMic("mic").attach(film.microphone)
        try await alice.start()
        try film.sendLive(seconds: 60)
        #expect(try await eventually { watch.beeps.count >= 8 && delays.all.count >= 100 })
        // The first seconds may come before alice has announced the times, and bob waits a second until he believes them.
        let delay = delays.all.sorted()[delays.all.count / 2]
        let differences = watch.beeps.dropFirst(4).map { beep in
            // A beep is sent at 0.48 s of each second.
            let difference = beep - 0.48 - delay
            return difference - difference.rounded()
        }
        #expect(differences.allSatisfy { abs($0) < 0.040 }, "\(differences)")
        let streams = StreamStatistics.all(in: try bob.element("call").property("streams", as: Structure.self))
        let lost = streams.filter { $0.direction == .received }.map(\.lost)
        #expect(lost.allSatisfy { $0 < 25 }, "\(lost)")
        await alice.stop()
        await bob.stop()
    }

    @Test("SE-12 both sides of a Janus room know the bit rate, jitter, losses and round trip of each stream")
    func statistics() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let bob = try Graph(
            """
            mediasession name=call transport=janus server=\(server.http) room=lobby user=bob \
            videosource handler=counter options="width=64,height=36" ! call.camera \
            call.video_alice ! rawdatapipe name=pipe  call.audio_alice ! virtualspeaker handler=count
            """)
        try bob.rawDataPipe("pipe").receive { _ in }
        let alice = try Graph(
            """
            mediasession name=call transport=janus server=\(server.socket) room=lobby user=alice \
            videosource handler=counter options="width=320,height=180" ! call.camera \
            audiotestsrc is-live=true ! call.mic  call.video_bob ! rawdatapipe name=pipe
            """)
        try alice.rawDataPipe("pipe").receive { _ in }
        try await bob.start()
        try await alice.start()
        func network(_ graph: Graph, _ direction: StreamStatistics.Direction, _ stream: UserStream)
            -> NetworkStatistics?
        {
            let streams = try? graph.element("call").property("streams", as: Structure.self)
            return streams.map(StreamStatistics.all)?.first {
                ($0.user, $0.stream, $0.direction) == ("alice", stream, direction)
            }?.network
        }
        for stream in [UserStream.video, .audio] {
            var (sent, received): (NetworkStatistics?, NetworkStatistics?)
            #expect(
                try await eventually {
                    sent = network(alice, .sent, stream)
                    received = network(bob, .received, stream)
                    return sent?.roundTripTime != nil && received?.roundTripTime != nil && received?.jitter != nil
                        && (sent?.bitsPerSecond ?? 0) > 1000 && (received?.bitsPerSecond ?? 0) > 1000
                })
            // Raw video would have 20 Mbit/s.
            #expect(sent?.bitsPerSecond ?? 0 < 5_000_000 && received?.bitsPerSecond ?? 0 < 5_000_000)
            // A busy machine may lose some.
            for loss in [sent?.packetLoss, received?.packetLoss] { #expect((0..<0.5).contains(loss ?? -1)) }
            #expect(sent?.jitter == nil)
        }
        await alice.stop()
        await bob.stop()
    }
}
