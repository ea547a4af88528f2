import MediaGraphCore

extension MediaSessionElement {
    /// The properties of `mediasession`.
    struct Settings: Sendable {
        var room = "default"
        var user = ""
        var displayName = ""
        var customData = ""
        var transport = RoomTransportKind.defaultName
        var transportSettings = RoomTransportSettings()
        var videoEncoder = ""
        var joins = true
        var mirror = MirrorMode.previewOnly
        var auxMirror = MirrorMode.previewOnly
        var role = SessionRole.participant
        var streamsRawData = false
        var isCameraOff = false
        var isAuxCameraOff = false
        var isMicMuted = false
        var isPreviewOff = false
        var isAuxPreviewOff = false
        var videoConfiguration = VideoCapability.sessionDefault

        var profile: UserProfile { UserProfile(displayName: displayName, customData: customData) }

        /// Whether the user has turned off what sends the stream.
        func mutes(_ kind: StreamKind) -> Bool {
            switch kind {
            case .camera: isCameraOff
            case .cameraAux: isAuxCameraOff
            case .microphone: isMicMuted
            case .share, .shareAudio: false
            }
        }

        /// Returns whether the user has stopped the preview of this kind of stream.
        func isPreviewOff(for kind: StreamKind) -> Bool {
            switch kind {
            case .camera: isPreviewOff
            case .cameraAux: isAuxPreviewOff
            case .microphone, .share, .shareAudio: false
            }
        }

        /// Returns where the stream's frames are marked to be flipped.
        func mirrorMode(of kind: StreamKind) -> MirrorMode {
            switch kind {
            case .camera: mirror
            case .cameraAux: auxMirror
            case .microphone, .share, .shareAudio: .none
            }
        }

        /// Why the user may not enable the alpha channel; `nil` if that is permitted.
        var alphaRefusal: String? {
            guard role == .host else { return "the session's user must be its host (role=host)" }
            guard streamsRawData else { return "the session must be permitted to stream raw data (raw-streaming=true)" }
            return nil
        }
    }
}
