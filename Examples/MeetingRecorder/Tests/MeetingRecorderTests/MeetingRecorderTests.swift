import Foundation
import MediaGraph
import MeetingRecorder
import Synchronization
import Testing

@Suite struct MeetingRecorderTests {
    private let folder = NSTemporaryDirectory() + "it's a \"meeting\" ! \(UUID().uuidString)/"

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

    /// A user whose picture flashes and whose sound beeps 0.48 s after each second, for a tenth of a second. The
    /// picture's size changes each second.
    private final class Film: AsyncVideoSource, AsyncVirtualMic {
        func run(sender: VideoSender) async throws {
            let rate = Fraction(25, 1)
            for number in 0... {
                while let now = sender.runningTime, now < .frame(number, at: rate) {
                    try await Task.sleep(for: .milliseconds(2))
                }
                let (width, level): (Int, UInt8) = (
                    number / 25 % 2 == 0 ? 160 : 240, (12..<15) ~= number % 25 ? 235 : 16
                )
                try await sender.send(
                    [UInt8](repeating: level, count: width * 120) + [UInt8](repeating: 128, count: width * 60),
                    FrameDescription(
                        width: width, height: 120, format: .i420Limited, framesPerSecond: rate,
                        timestamp: .frame(number, at: rate)))
            }
        }

        /// Sends sound as fast as the node accepts it. Sending ahead prevents gaps on a busy machine.
        func run(sender: AudioSender) async throws {
            for number in 0... {
                let level: Int16 = (48..<58) ~= number % 100 ? 16000 : 0
                try await sender.send(
                    (0..<480).map { $0 / 12 % 2 == 0 ? level : -level }, sampleRate: 48000,
                    timestamp: .milliseconds(UInt64(number) * 10))
            }
        }
    }

    private func film(_ user: String, in room: String) throws -> Session {
        var context = SessionContext(user: user, room: room)
        (context.externalVideoSource, context.virtualAudioMic) = (Film(), Film())
        return try Session(context)
    }

    /// Records the flashes and beeps of one user's picture and sound while the file plays.
    private final class Track: Sendable {
        struct Seen: Sendable {
            /// Running times in seconds.
            var flashes: [Double] = []
            var beeps: [Double] = []
            var frames: [Double] = []
            var isBright = false
            /// Samples since the last loud one.
            var quiet = 48000
        }
        let seen = Mutex(Seen())

        func look(at frame: borrowing VideoFrame) {
            let (isBright, time) = (frame.packedBytes[640 * 180 + 320] > 120, frame.runningTime?.seconds ?? -1)
            seen.withLock { seen in
                seen.frames.append(time)
                if isBright, !seen.isBright { seen.flashes.append(time) }
                seen.isBright = isBright
            }
        }

        func listen(to frame: borrowing AudioFrame) {
            let (time, samples) = (frame.runningTime?.seconds ?? -1, frame.samples)
            seen.withLock { seen in
                for index in samples.indices {
                    seen.quiet += 1
                    guard samples[index].magnitude > 6000 else { continue }
                    if seen.quiet > 12000 { seen.beeps.append(time + Double(index) / 48000) }
                    seen.quiet = 0
                }
            }
        }
    }

    private func play(_ path: String, tracks count: Int) async throws -> [Track.Seen] {
        let text = (0..<count).map {
            """
            demux.video_\($0) ! queue ! decodebin ! videoconvert ! rawdatapipe name=picture\($0)
            demux.audio_\($0) ! queue ! decodebin ! audioconvert ! audioresample ! sound\($0).user_a
            virtualspeaker name=sound\($0)

            """
        }
        let graph = try Graph(
            "filesrc location=\"${FILE}\" ! matroskademux name=demux\n" + text.joined(), variables: ["FILE": path])
        let tracks = (0..<count).map { _ in Track() }
        for (index, track) in tracks.enumerated() {
            try graph.rawDataPipe("picture\(index)").receive { track.look(at: $0) }
            try graph.virtualSpeaker("sound\(index)").receive {
                if case .oneWay = $1 { track.listen(to: $0) }
            }
        }
        try await graph.run()
        return tracks.map { $0.seen.withLock { $0 } }
    }

    @Test("each user is recorded in sync, in tracks of the same length, despite joining late or leaving early")
    func inStep() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (room, path) = ("recording \(UUID().uuidString)", folder + "meeting.mkv")
        // Names that need quoting or escaping, and a user who never joins.
        let users = ["alice", "bob \"b.\" \\", "nobody"]
        let recording = try MeetingRecorder(room: room, users: users, output: path).graph
        try await recording.start()
        let (alice, bob) = (try film(users[0], in: room), try film(users[1], in: room))
        try await alice.join()
        try await Task.sleep(for: .seconds(1.3))
        try await bob.join()
        try await Task.sleep(for: .seconds(2.2))
        await bob.leave()
        try await Task.sleep(for: .seconds(1))
        guard case .endOfStream = await recording.finish() else {
            Issue.record("the stream didn't end, so the file isn't finished")
            return
        }
        await alice.leave()

        let seen = try await play(path, tracks: 3)
        for user in seen.prefix(2) {
            // One track may lack its last frames.
            #expect(abs(user.flashes.count - user.beeps.count) < 2)
            let differences = zip(user.beeps, user.flashes).map { $0 - $1 }
            #expect(differences.allSatisfy { abs($0) < 0.020 }, "\(differences)")
        }
        #expect(seen[0].flashes.count >= 4 && (2...3).contains(seen[1].flashes.count))
        #expect(seen[2].flashes.isEmpty && seen[2].beeps.isEmpty)
        // The second user's track is black before the user joins and after the user leaves, and its timestamps
        // continue.
        let ends = seen.map { $0.frames.last ?? 0 }
        #expect(seen[1].flashes[0] - seen[0].flashes[0] > 1.2 && ends[1] - seen[1].flashes.last! > 0.9)
        for (user, end) in zip(seen, ends) {
            #expect(user.frames[0] < 0.02 && abs(end - ends[0]) < 0.3 && end > 4, "\(ends)")
            #expect(zip(user.frames.dropFirst(), user.frames).allSatisfy { $0 - $1 < 0.060 })
        }
    }

    @Test("a file that can't be written is an error, and so is a name that is taken in the room")
    func errors() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let room = "recording \(UUID().uuidString)"
        await #expect(throws: GraphError.self) {
            try await MeetingRecorder(room: room, users: ["bob"], output: folder + "none/meeting.mkv").graph.run()
        }
        let first = try MeetingRecorder(room: room, users: ["bob"], output: folder + "1.mkv").graph
        try await first.start()
        await #expect(throws: GraphError.self) {
            try await MeetingRecorder(room: room, users: ["bob"], output: folder + "2.mkv").graph.run()
        }
        await first.stop()
    }
}
