import GStreamer
import TestSupport

@testable import MediaGraph
@testable import MediaGraphCore

func session(
    _ user: String, _ room: String, _ edit: (inout SessionContext) -> Void = { _ in }
) throws -> Session {
    var context = SessionContext(user: user, room: room)
    edit(&context)
    return try Session(context)
}

/// What a session's delegate hears.
final class SessionLog: SessionDelegate {
    let log = Log<String>()

    func session(_ session: Session, _ event: SessionEvent) {
        switch event {
        case .joined: log.add("joined")
        case .userJoined(let user): log.add("+\(user.name)")
        case .userLeft(let user): log.add("-\(user.name)")
        case .streamChanged(let user, let stream, let isOn): log.add("\(user.name) \(stream) \(isOn ? "on" : "off")")
        case .warning(let warning): log.add("\(warning)")
        case .left: log.add("left")
        case .alphaChannel: log.add("told twice")
        }
    }

    let heard = Log<String>()
    func session(_ session: Session, mixedAudioReceived frame: borrowing AudioFrame) { heard.add("mixed") }
    func session(_ session: Session, oneWayAudioReceived frame: borrowing AudioFrame, user: SessionUser) {
        heard.add(user.name)
    }
    func session(_ session: Session, sharedAudioReceived frame: borrowing AudioFrame) { heard.add("shared") }
}

/// What a pipe's delegate gets.
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

    /// Frames alone.
    var count: Int { log.all.count { $0 != "on" && $0 != "off" } }
}

extension VideoSender {
    /// A frame of a pattern, at the graph's own time.
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
    /// Waits until what was asked of the graph's queue before is done.
    func settle() async {
        await withCheckedContinuation { done in graph.enqueue { done.resume() } }
    }
}
