import MediaGraph

// Ported from the Zoom Video SDK's "Receive raw audio for virtual speaker": VirtualSpeakerExample (Swift and
// Objective-C).
//
// The original doesn't document the thread of the three callbacks, whether two may be called at once, and what happens
// if one takes long ("Play the raw audio here"). Here callbacks are called one at a time, so a value type with
// `mutating` methods needs no lock. If the handler is too slow, a live stream drops and counts blocks, while the other
// streams continue.

struct VirtualSpeakerExample: VirtualSpeaker {
    let lines: Lines

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
                + "channelNum \(rawData.channelCount), first \(rawData.samples[0])")
    }
}

extension Sample {
    static let zoomVirtualSpeaker = Sample(
        name: "zoom-virtual-speaker", summary: "ZoomVideoSDKVirtualAudioSpeaker: mixed, one-way and shared audio"
    ) { frames in
        // Square waves that begin with their positive half, with 0.25, 0.125 and 0.5 of full scale.
        func tone(_ volume: Double) -> String {
            "audiotestsrc wave=square freq=100 volume=\(volume) samplesperbuffer=320 num-buffers=\(frames) ! audio/x-raw,format=S16LE,rate=32000,channels=1"
        }
        let graph = try Graph(
            """
            virtualspeaker name=speaker rate=32000
            \(tone(0.25)) ! speaker.user_anna
            \(tone(0.125)) ! speaker.user_bob
            \(tone(0.5)) ! speaker.shared
            """)
        let lines = Lines()
        try graph.virtualSpeaker("speaker").attach(VirtualSpeakerExample(lines: lines))
        _ = try await graph.run()
        return ["mixed", "anna", "bob", "shared"].flatMap(lines.about)
    }
}
