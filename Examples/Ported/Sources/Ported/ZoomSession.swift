import Foundation
import MediaGraph

// Ported from the Zoom Video SDK's "Raw data", "Send raw data" and "Receive raw data", as one program: the session
// context with its sources, virtual microphone and virtual speaker, joining, the ZoomVideoSDKDelegate, subscribing to
// each user's pipes, the audio helper, a share, and leaving.
//
// Faults of the originals: they subscribe to getMySelf() only, once, and don't cover users who join later. No sample
// calls the audio helper, without which no audio callback is ever called. The memory modes are set on parameters that
// no call uses. The thread of the delegate's callbacks isn't documented. Here there is an event for each user,
// including users who joined earlier; calls that fail throw; and events arrive in order, on one queue.

private final class MySessionDelegate: SessionDelegate, RawDataDelegate {
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    // onSessionJoin, onUserJoin, onUserShareStatusChanged, onUserLeave, onSessionLeave.
    func session(_ session: Session, _ event: SessionEvent) {
        do {
            switch event {
            case .joined:
                lines.add("session: joined")
                // Audio callbacks begin now.
                try session.audioHelper.subscribe()
            case .userJoined(let user):
                lines.add("session: \(user.name) joined")
                try user.videoPipe.subscribe(self, resolution: .p720)
            case .streamChanged(let user, .share, isOn: true):
                lines.add("session: \(user.name) shares")
                try user.sharePipe.subscribe(self, resolution: .p720)
            case .streamChanged(let user, .share, isOn: false):
                lines.add("session: \(user.name) has stopped sharing")
            case .userLeft(let user): lines.add("session: \(user.name) left")
            case .left: lines.add("session: left")
            case .streamChanged, .muteChanged, .speakingChanged, .profileChanged, .commandReceived, .shareIsWaiting,
                .alphaChannel, .warning:
                break
            }
        } catch { lines.add("session: \(error)") }
    }

    // onRawDataFrameReceived, of a camera and of a share.
    func received(_ rawData: borrowing VideoFrame, from pipe: PipeIdentity) {
        lines.add(
            "\(pipe.kind == .share ? "share" : "video") of \(pipe.user ?? "?"): \(rawData.width)×\(rawData.height)")
    }

    // onRawDataStatusChanged. Also called when the user has left; unsubscribing isn't needed then.
    func statusChanged(isOn: Bool, of pipe: PipeIdentity) {
        lines.add("\(pipe.kind == .share ? "share" : "video") of \(pipe.user ?? "?"): \(isOn ? "on" : "off")")
    }

    // onMixedAudioRawDataReceived and onOneWayAudioRawDataReceived.
    func session(_ session: Session, mixedAudioReceived rawData: borrowing AudioFrame) {
        lines.add("mixed audio: \(rawData.sampleRate) Hz, \(rawData.channelCount) channel")
    }

    func session(_ session: Session, oneWayAudioReceived rawData: borrowing AudioFrame, user: SessionUser) {
        lines.add("audio of \(user.name): \(rawData.sampleRate) Hz, \(rawData.channelCount) channel")
    }
}

extension Sample {
    static let zoomSession = Sample(
        name: "zoom-session",
        summary:
            "ZoomVideoSDKSessionContext, ZoomVideoSDKDelegate, audio and share helper: a session from join to leave"
    ) { frames in
        let room = "session sample \(UUID().uuidString)"

        // All sources are set before joining. The session retains them.
        var sessionContext = SessionContext(user: "alice", room: room)
        sessionContext.externalVideoSource = Camera()
        sessionContext.virtualAudioMic = MyVirtualMic()
        let alice = try Session(sessionContext)

        // Another user, who receives the streams.
        let (lines, played) = (Lines(), Lines())
        var otherContext = SessionContext(user: "bob", room: room)
        otherContext.virtualAudioSpeaker = VirtualSpeakerExample(played)
        // audioRawdataMemoryMode, videoRawdataMemoryMode and shareRawdataMemoryMode.
        otherContext.audioMemoryMode = .heap
        otherContext.videoMemoryMode = .heap
        otherContext.shareMemoryMode = .heap
        let bob = try Session(otherContext)
        // Held weakly, as the SDK does.
        let delegate = MySessionDelegate(lines)
        bob.delegate = delegate

        func wait(for count: Int = 1, _ beginning: String, in lines: Lines = lines) async throws {
            while lines.all.count(where: { $0.hasPrefix(beginning) }) < count {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        try await alice.join()
        try await bob.join()
        for stream in ["video of alice: 320", "audio of alice", "mixed audio"] { try await wait(for: frames, stream) }
        try await wait(for: frames, "alice", in: played)

        try await alice.shareHelper.startSharing(MyShareSource())
        try await wait(for: frames, "share of alice: 3")
        await alice.shareHelper.stopSharing()
        for stream in ["share of alice: off", "session: alice has stopped sharing"] { try await wait(stream) }
        await alice.leave()
        for stream in ["video of alice: off", "session: alice left"] { try await wait(stream) }
        await bob.leave()
        try await wait("session: left")
        return withExtendedLifetime(delegate) { lines.all }
    }
}
