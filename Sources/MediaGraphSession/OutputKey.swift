import MediaGraphCore
import MediaGraphDescription

/// Which stream one of a session's source pads gives.
package enum OutputKey: Sendable, Hashable {
    /// `preview` and `preview_aux`: what the user's own cameras send.
    case preview(PublishChannel)
    /// `video_bob` and the like.
    case of(StreamKey)

    /// From what a pad is asked for by; `nil` without a user's name, as `PadName` writes it.
    init?(template: String, name: String?) {
        if let channel = PublishChannel.allCases.first(where: { template == $0.previewPad }) {
            self = .preview(channel)
            return
        }
        guard let kind = StreamKind.allCases.first(where: { template == "\($0.outputPrefix)%s" }), let name,
            name.hasPrefix(kind.outputPrefix), name.count > kind.outputPrefix.count,
            let user = try? PadName.unescape(String(name.dropFirst(kind.outputPrefix.count)))
        else { return nil }
        self = .of(StreamKey(user: user, kind: kind))
    }

    var isPreview: Bool { if case .preview = self { true } else { false } }

    var template: String {
        switch self {
        case .preview(let channel): channel.previewPad
        case .of(let key): "\(key.kind.outputPrefix)%s"
        }
    }

    var padName: String {
        switch self {
        case .preview(let channel): channel.previewPad
        case .of(let key): key.kind.outputPrefix + PadName.escape(key.user)
        }
    }

    /// What sends all the time while it is on.
    var steady: StreamKey? {
        guard case .of(let key) = self, [.video, .videoAux, .audio].contains(key.kind.stream) else { return nil }
        return key
    }

    /// Whose stream it is.
    var sender: String {
        switch self {
        case .preview: "the camera"
        case .of(let key): key.user
        }
    }

    /// Blocks of sound are small, and one that is lost is heard: half a second of them may wait. Of pictures the newest counts.
    package var bound: Int {
        switch self {
        case .preview: 2
        case .of(let key): key.kind.isSound ? 50 : 2
        }
    }
}

extension PublishChannel {
    package var previewPad: String { self == .main ? "preview" : "preview_aux" }
    var camera: StreamKind { self == .main ? .camera : .cameraAux }
}
