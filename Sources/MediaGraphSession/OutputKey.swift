import MediaGraphCore
import MediaGraphDescription

/// Identifies the stream that one of a session's source pads outputs.
package enum OutputKey: Sendable, Hashable {
    /// The user's own camera, on the pad `preview` or `preview_aux`.
    case preview(PublishChannel)
    /// A user's stream, on a pad such as `video_bob`.
    case of(StreamKey)

    /// Makes the key of a requested pad, from its template and name; `nil` if the name contains no user's name as
    /// `PadName` encodes it.
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

    /// The stream, if it sends continuously while it is on; `nil` for previews and shares.
    var steady: StreamKey? {
        guard case .of(let key) = self, [.video, .videoAux, .audio].contains(key.kind.stream) else { return nil }
        return key
    }

    /// The sender's name in messages.
    var sender: String {
        switch self {
        case .preview: "the camera"
        case .of(let key): key.user
        }
    }

    /// The number of buffers that a reader may queue: about half a second of audio, whose blocks are small and whose
    /// losses are audible, but only two frames of video, of which the newest matters.
    package var bound: Int {
        switch self {
        case .preview: 2
        case .of(let key): key.kind.isSound ? 50 : 2
        }
    }
}

extension PublishChannel {
    /// The name of the source pad that previews this camera.
    package var previewPad: String { self == .main ? "preview" : "preview_aux" }
    package var camera: StreamKind { self == .main ? .camera : .cameraAux }
}
