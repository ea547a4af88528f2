/// What users have announced of their streams: which are being sent, are muted, or have an alpha channel.
package struct AnnouncedStreams: Sendable {
    /// The streams that users are sending.
    private var sending: Set<StreamKey> = []
    /// The streams that users have muted.
    private var muted: Set<StreamKey> = []
    /// The microphones into which users speak.
    private var spokenInto: Set<StreamKey> = []
    /// The streams whose frames have an alpha channel.
    private var withAlpha: Set<StreamKey> = []

    package init() {}

    /// Records a change. Returns false if the stream was already in that state.
    package mutating func record(_ change: StreamChange, of key: StreamKey) -> Bool {
        func record(_ isOn: Bool, in streams: inout Set<StreamKey>) -> Bool {
            isOn ? streams.insert(key).inserted : streams.remove(key) != nil
        }
        return switch change {
        case .status(let isOn): record(isOn, in: &sending)
        case .muted(let isMuted): record(isMuted, in: &muted)
        case .speaking(let isSpeaking): record(isSpeaking, in: &spokenInto)
        case .alpha(let isOn): record(isOn, in: &withAlpha)
        }
    }

    /// Forgets a user's streams. A user who comes back begins unmuted and without alpha.
    package mutating func forgetStreams(of user: String) {
        func others(_ streams: Set<StreamKey>) -> Set<StreamKey> { streams.filter { $0.user != user } }
        (sending, muted, spokenInto) = (others(sending), others(muted), others(spokenInto))
        withAlpha = others(withAlpha)
    }

    package func isSending(_ key: StreamKey) -> Bool { sending.contains(key) }

    /// Returns the changes that end a user's streams, in order.
    func endings(of user: String) -> [(key: StreamKey, change: StreamChange)] {
        spokenInto.filter { $0.user == user }.map { ($0, .speaking(false)) }
            + sending.filter { $0.user == user }.map { ($0, .status(isOn: false)) }
    }

    /// The changes to tell a newcomer, who knows none of the streams.
    package var changes: [(key: StreamKey, change: StreamChange)] {
        muted.map { ($0, .muted(true)) } + sending.map { ($0, .status(isOn: true)) }
            + spokenInto.map { ($0, .speaking(true)) } + withAlpha.map { ($0, .alpha(isOn: true)) }
    }
}
