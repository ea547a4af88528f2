import GStreamer
import TestSupport

@testable import MediaGraph
@testable import MediaGraphCore

/// A session whose context `edit` may change.
func session(
    _ user: String, _ room: String, _ edit: (inout SessionContext) -> Void = { _ in }
) throws -> Session {
    var context = SessionContext(user: user, room: room)
    edit(&context)
    return try Session(context)
}

/// Logs the events and the audio that a session's delegate gets.
final class SessionLog: SessionDelegate {
    let log = Log<String>()

    func session(_ session: Session, _ event: SessionEvent) {
        switch event {
        case .joined: log.add("joined")
        case .userJoined(let user): log.add("+\(user.name)")
        case .profileChanged(let user): log.add("\(user.name) is \(user.displayName)")
        case .commandReceived(let received):
            log.add("\(received.sender.name)\(received.isForAll ? " to all" : ""): \(received.command)")
        case .userLeft(let user): log.add("-\(user.name)")
        case .streamChanged(let user, let stream, let isOn): log.add("\(user.name) \(stream) \(isOn ? "on" : "off")")
        case .muteChanged(let user, let stream, let isMuted):
            log.add("\(user.name) \(isMuted ? "mutes" : "unmutes") \(stream)")
        case .speakingChanged(let user, let isSpeaking): log.add("\(user.name) \(isSpeaking ? "speaks" : "is silent")")
        case .warning(let warning): log.add("\(warning)")
        case .left: log.add("left")
        case .shareIsWaiting(let reason): log.add("waits: \(reason)")
        case .alphaChannel: log.add("alpha channel as a generic event")
        }
    }

    let audio = Log<String>()
    func session(_ session: Session, mixedAudioReceived frame: borrowing AudioFrame) { audio.add("mixed") }
    func session(_ session: Session, oneWayAudioReceived frame: borrowing AudioFrame, user: SessionUser) {
        audio.add(user.name)
    }
    func session(_ session: Session, sharedAudioReceived frame: borrowing AudioFrame) { audio.add("shared") }
}

/// Logs the calls of a pipe's delegate.
final class PipeLog: RawDataDelegate {
    let log = Log<String>()
    let identities = Log<PipeIdentity>()
    private let onFrame: @Sendable (borrowing VideoFrame) throws -> Void

    init(_ onFrame: @escaping @Sendable (borrowing VideoFrame) throws -> Void = { _ in }) { self.onFrame = onFrame }

    func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        identities.add(pipe)
        try onFrame(frame)
        log.add("\(frame.width)x\(frame.height)")
    }
    func statusChanged(isOn: Bool, of pipe: PipeIdentity) { log.add(isOn ? "on" : "off") }

    /// The number of frames.
    var count: Int { log.all.count { $0 != "on" && $0 != "off" } }
}

extension VideoSender {
    /// Sends a frame with a pattern and the graph's current time.
    func sendPattern(width: Int = 32, height: Int = 18, seed: Int = 0) throws {
        try sendNow(
            self, patternedFrame(width: width, height: height, seed: seed),
            FrameDescription(
                width: width, height: height, framesPerSecond: Fraction(30, 1), timestamp: runningTime))
    }
}

extension RecordingSource {
    func sendPattern(seed: Int = 0) throws { try sender.sendPattern(seed: seed) }
}

extension Session {
    /// Waits until the graph's queue has finished all earlier work.
    func settle() async {
        await withCheckedContinuation { done in graph.enqueue { done.resume() } }
    }
}
