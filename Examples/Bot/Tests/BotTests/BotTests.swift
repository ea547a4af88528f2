import Bot
import Foundation
import MediaGraph
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct BotTests {
    /// Records the bot's picture and sound: the luma at the left and at the right, and the pitch, from zero crossings.
    private final class Witness: SessionDelegate, RawDataDelegate {
        private let state = Mutex<(left: UInt8, right: UInt8, pitch: Double)>((0, 0, 0))
        var current: (left: UInt8, right: UInt8, pitch: Double) { state.withLock { $0 } }

        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
            let row = try frame.plane(.y).row(frame.height / 2)
            let (left, right) = (row[frame.width / 4], row[frame.width * 3 / 4])
            state.withLock { ($0.left, $0.right) = (left, right) }
        }

        /// Samples are evaluated in blocks of a tenth of a second, for a resolution of 10 Hz.
        private let samples = Mutex<[Int16]>([])
        func session(_ session: Session, oneWayAudioReceived frame: borrowing AudioFrame, user: SessionUser) {
            let new = frame.samples
            let block = samples.withLock { samples -> [Int16] in
                for index in new.indices { samples.append(new[index]) }
                guard samples.count >= 4800 else { return [] }
                defer { samples = [] }
                return samples
            }
            guard user.name == "bot", !block.isEmpty else { return }
            let crossings = zip(block, block.dropFirst()).count { $0 < 0 && $1 >= 0 }
            state.withLock { $0.pitch = Double(crossings) * 48000 / Double(block.count) }
        }

        /// Waits until the bot shows these values and has this pitch; returns false after some 10 s.
        func sees(_ left: UInt8, _ right: UInt8, hears pitch: Double? = nil) async throws -> Bool {
            for _ in 0..<2000 {
                let now = current
                let isSeen = abs(Int(now.left) - Int(left)) < 4 && abs(Int(now.right) - Int(right)) < 4
                if isSeen, pitch.map({ abs(now.pitch - $0) < 15 }) ?? true { return true }
                try await Task.sleep(for: .milliseconds(5))
            }
            return false
        }
    }

    private func user(_ name: String, _ camera: String?, _ room: String) throws -> Session {
        var context = SessionContext(user: name, room: room)
        context.camera = camera.map { "videotestsrc is-live=true pattern=\($0) ! video/x-raw,width=64,height=36" }
        return try Session(context)
    }

    @Test("the bot shows a stripe and plays a tone for the brightness of each user's picture")
    func reacts() async throws {
        let room = "bot \(UUID().uuidString)"
        let bot = try Bot().session(room: room)
        try await bot.join()
        let alice = try user("alice", "white", room)
        let witness = Witness()
        alice.delegate = witness
        try await alice.join()
        while alice.remoteUsers.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        try alice.user("bot").videoPipe.subscribe(witness, resolution: .p180)
        try alice.audioHelper.subscribe()
        #expect(try await witness.sees(235, 235, hears: 880), "\(witness.current)")
        let bob = try user("bob", "black", room)
        try await bob.join()
        #expect(try await witness.sees(235, 16), "\(witness.current)")
        await bob.leave()
        #expect(try await witness.sees(235, 235, hears: 880), "\(witness.current)")
        await alice.leave()

        let carol = try user("carol", "black", room)
        carol.delegate = witness
        try await carol.join()
        while carol.remoteUsers.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        try carol.user("bot").videoPipe.subscribe(witness, resolution: .p180)
        try carol.audioHelper.subscribe()
        #expect(try await witness.sees(16, 16, hears: 220), "\(witness.current)")
        for session in [carol, bot] { await session.leave() }
    }
}
