import Foundation
import MediaGraph
import Synchronization

/// A user of a room that watches all other users. Its picture has a stripe in the average color of each user's
/// picture, and its sound is a chord with a tone for each user: the brighter the user's picture, the higher the tone.
public final class Bot: SessionDelegate, RawDataDelegate, AsyncVideoSource, AsyncVirtualMic {
    /// The average color of a user's picture.
    private struct Color: Sendable {
        var (y, u, v) = (UInt8(16), UInt8(128), UInt8(128))
        /// The frequency in Hz, which spans two octaves from black to white.
        var pitch: Double { 220 * exp2(2 * (Double(y) - 16) / 219) }
    }
    private let seen = Mutex<[String: Color]>([:])

    /// Creates a bot; ``session(name:room:)`` makes its session.
    public init() {}

    /// Returns a session in which the bot is the user. The session retains the bot as its source; the bot doesn't
    /// retain the session.
    public func session(name: String = "bot", room: String) throws(MediaGraphError) -> Session {
        var context = SessionContext(user: name, room: room)
        (context.externalVideoSource, context.virtualAudioMic) = (self, self)
        let session = try Session(context)
        session.delegate = self
        return session
    }

    /// Subscribes to the picture of each user who joins.
    public func session(_ session: Session, _ event: SessionEvent) {
        if case .userJoined(let user) = event { try? user.videoPipe.subscribe(self, resolution: .p90) }
    }

    /// Stores the average color of a user's frame.
    public func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        let (y, u, v) = (try frame.plane(.y).average, try frame.plane(.u).average, try frame.plane(.v).average)
        seen.withLock { $0[pipe.user ?? ""] = Color(y: y, u: u, v: v) }
    }

    /// Forgets a user's color when the user's stream starts or ends.
    public func statusChanged(isOn: Bool, of pipe: PipeIdentity) { seen.withLock { $0[pipe.user ?? ""] = nil } }

    /// Sends the picture: 15 frames a second with a stripe for each user.
    public func run(sender: VideoSender) async throws {
        for number in 0... {
            let stripes = seen.withLock { $0.isEmpty ? [Color()] : $0.sorted { $0.key < $1.key }.map(\.value) }
            func plane(_ width: Int, _ height: Int, _ value: (Color) -> UInt8) -> [UInt8] {
                let row = (0..<width).map { value(stripes[$0 * stripes.count / width]) }
                return (0..<height).flatMap { _ in row }
            }
            let time = ClockTime.frame(number, at: Fraction(15, 1))
            while let now = sender.runningTime, now < time { try await Task.sleep(for: .milliseconds(5)) }
            try await sender.send(
                plane(320, 180, \.y) + plane(160, 90, \.u) + plane(160, 90, \.v),
                FrameDescription(width: 320, height: 180, format: .i420Limited, timestamp: time))
        }
    }

    /// Sends the sound in blocks of 10 ms. Sending suspends while the node has enough sound, so no clock is needed.
    public func run(sender: AudioSender) async throws {
        var phases: [String: Double] = [:]
        while true {
            let voices = seen.withLock { $0 }
            var block = [Double](repeating: 0, count: 480)
            for (user, color) in voices {
                let (phase, step) = (phases[user] ?? 0, color.pitch / 48000)
                for index in block.indices { block[index] += sin(2 * .pi * (phase + Double(index) * step)) }
                phases[user] = (phase + 480 * step).truncatingRemainder(dividingBy: 1)
            }
            try await sender.send(block.map { Int16($0 * 8000 / Double(max(1, voices.count))) }, sampleRate: 48000)
        }
    }
}

extension VideoPlane {
    /// The average of all samples.
    fileprivate var average: UInt8 {
        var sum = 0
        for y in 0..<height { for x in 0..<width { sum += Int(row(y)[x]) } }
        return UInt8(sum / (width * height))
    }
}
