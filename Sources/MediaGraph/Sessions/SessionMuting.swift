import GStreamer
import MediaGraphCore
import MediaGraphSession

extension StreamKind {
    /// The property of `mediasession` that turns off what sends the stream; `nil` for shares.
    fileprivate var muteProperty: String? {
        switch self {
        case .camera: "camera-off"
        case .cameraAux: "camera-aux-off"
        case .microphone: "mic-muted"
        case .share, .shareAudio: nil
        }
    }
}

extension Session {
    /// Turns a camera or the microphone off or on. Throws `noVideo` or `noAudio` if the context has none.
    func mute(_ kind: StreamKind, _ isMuted: Bool) async throws(MediaGraphError) {
        switch kind {
        case .microphone:
            guard context.virtualAudioMic != nil || context.microphone != nil else {
                throw .noAudio(
                    .init(
                        "the session's microphone",
                        actual: "doesn't exist; set virtualAudioMic or microphone in the session's context"))
            }
        default:
            guard context.hasCamera(kind == .cameraAux ? .aux : .main) else {
                let camera = kind == .cameraAux ? "auxCamera" : "camera or externalVideoSource"
                throw .noVideo(
                    .init("the session's camera", actual: "doesn't exist; set \(camera) in the session's context"))
            }
        }
        guard let property = kind.muteProperty else { return }
        // Calls the source, which may take its time, so it doesn't run in this task.
        try await graph.onControlQueue { [sessionGraph] in
            // Can't fail: the property accepts both values at any time.
            sessionGraph.element.configure(property, to: isMuted)
        }
    }

    /// Whether a camera or the microphone is off.
    func mutes(_ kind: StreamKind) -> Bool {
        kind.muteProperty.flatMap { try? sessionGraph.element.property($0, as: Bool.self) } ?? false
    }
}
