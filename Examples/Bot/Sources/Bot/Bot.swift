import Foundation
import MediaGraph
import Synchronization

/// A user of a room that watches all others, and answers: each is a stripe of its picture, in the colour of theirs, and a voice
/// of its chord, the higher the brighter they are.
public final class Bot: SessionDelegate, RawDataDelegate, AsyncVideoSource, AsyncVirtualMic {
    /// Somebody's picture on average.
    private struct Colour: Sendable {
        var (y, u, v) = (UInt8(16), UInt8(128), UInt8(128))
        /// Two octaves from black to white.
        var pitch: Double { 220 * exp2(2 * (Double(y) - 16) / 219) }
    }
    private let seen = Mutex<[String: Colour]>([:])

    public init() {}

    /// The bot as a user. The session holds it as its source; it doesn't hold the session.
    public func session(name: String = "bot", room: String) throws(MediaGraphError) -> Session {
        var context = SessionContext(user: name, room: room)
        (context.externalVideoSource, context.virtualAudioMic) = (self, self)
        let session = try Session(context)
        session.delegate = self
        return session
    }

    /// It watches whoever comes,
    public func session(_ session: Session, _ event: SessionEvent) {
        if case .userJoined(let user) = event { try? user.videoPipe.subscribe(self, resolution: .p90) }
    }

    public func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        let (y, u, v) = (try frame.plane(.y).average, try frame.plane(.u).average, try frame.plane(.v).average)
        seen.withLock { $0[pipe.user ?? ""] = Colour(y: y, u: u, v: v) }
    }

    public func statusChanged(isOn: Bool, of pipe: PipeIdentity) { seen.withLock { $0[pipe.user ?? ""] = nil } }

    /// shows what it has seen,
    public func run(sender: VideoSender) async throws {
        for number in 0... {
            let stripes = seen.withLock { $0.isEmpty ? [Colour()] : $0.sorted { $0.key < $1.key }.map(\.value) }
            func plane(_ width: Int, _ height: Int, _ value: (Colour) -> UInt8) -> [UInt8] {
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

    /// and sings it: 10 ms at a time. The call suspends while the node has enough: no clock is needed.
    public func run(sender: AudioSender) async throws {
        var phases: [String: Double] = [:]
        while true {
            let voices = seen.withLock { $0 }
            var block = [Double](repeating: 0, count: 480)
            for (user, colour) in voices {
                let (phase, step) = (phases[user] ?? 0, colour.pitch / 48000)
                for index in block.indices { block[index] += sin(2 * .pi * (phase + Double(index) * step)) }
                phases[user] = (phase + 480 * step).truncatingRemainder(dividingBy: 1)
            }
            try await sender.send(block.map { Int16($0 * 8000 / Double(max(1, voices.count))) }, sampleRate: 48000)
        }
    }
}

extension VideoPlane {
    fileprivate var average: UInt8 {
        var sum = 0
        for y in 0..<height { for x in 0..<width { sum += Int(row(y)[x]) } }
        return UInt8(sum / (width * height))
    }
}
