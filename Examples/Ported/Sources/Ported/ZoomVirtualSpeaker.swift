import MediaGraph

// Ported from the Zoom Video SDK's "Receive raw audio for virtual speaker": VirtualSpeakerExample (Swift and
// Objective-C).
//
// Changes besides names: none.
//
// The original doesn't document the thread of the three callbacks, whether two may be called at once, and what happens
// if one takes long ("Play the raw audio here"). Here callbacks are called one at a time. If the handler is too slow,
// blocks are dropped and counted, while the session continues.

final class VirtualSpeakerExample: VirtualSpeaker, Sendable {
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    func mixedAudioReceived(_ rawData: borrowing AudioFrame) {
        // Received raw audio from the whole session.
        // Play the raw audio here.
        add("mixed", rawData)
    }

    func oneWayAudioReceived(_ rawData: borrowing AudioFrame, user: SpeakerUser) {
        // Received raw audio from a single user.
        add(user.name, rawData)
    }

    func sharedAudioReceived(_ rawData: borrowing AudioFrame) {
        // Received raw audio from a share.
        add("shared", rawData)
    }

    private func add(_ stream: String, _ rawData: borrowing AudioFrame) {
        lines.add(
            "\(stream): bufferLen \(rawData.byteLength), sampleRate \(rawData.sampleRate), "
                + "channelNum \(rawData.channelCount), greatest \(rawData.samples.max)")
    }
}

extension Span where Element == Int16 {
    var max: Int16 {
        var max = Int16.min
        for index in indices where self[index] > max { max = self[index] }
        return max
    }
}

extension Sample {
    static let zoomVirtualSpeaker = Sample(
        name: "zoom-virtual-speaker", summary: "ZoomVideoSDKVirtualAudioSpeaker: mixed, one-way and shared audio"
    ) { frames in
        // Square waves with 0.25 and 0.5 of full scale.
        func tone(_ volume: Double) -> String {
            "audiotestsrc is-live=true wave=square volume=\(volume) ! audio/x-raw,format=S16LE,rate=32000,channels=1"
        }
        let lines = Lines()
        let call = try await Call(
            alice: { $0.microphone = tone(0.25) },
            bob: { sessionContext in
                // Assign the speaker to the session context before joining.
                sessionContext.virtualAudioSpeaker = VirtualSpeakerExample(lines)
                sessionContext.speakerFormat = SpeakerFormat(sampleRate: 32000)
            })
        try await call.alice.shareHelper.startSharing(
            "videotestsrc is-live=true ! video/x-raw,width=320,height=180", audio: tone(0.5))
        for stream in ["mixed", "alice", "shared"] { try await lines.wait(for: frames, stream) }
        await call.leave()
        return ["mixed", "alice", "shared"].flatMap(lines.about)
    }
}
