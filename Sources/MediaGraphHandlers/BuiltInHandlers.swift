import MediaGraphCore

extension HandlerRegistry {
    /// The handler registry of this copy of MediaGraph, which contains the built-in handlers.
    public static let shared: HandlerRegistry = {
        let registry = HandlerRegistry()
        registry.registerBuiltIns()
        return registry
    }()

    /// Registers the built-in handlers.
    private func registerBuiltIns() {
        do throws(MediaGraphError) {
            try register(Counter.self)
            try register(Y4MSource.self)
            try register(RawVideoSource.self)
            try register(Invert.self)
            try register(Grayscale.self)
            try register(Pixelate.self)
            try register(Blur.self)
            try register(Background.self)
            try register(Despill.self)
            try register(Watermark.self)
            try register(Count.self)
            try register(FrameMD5.self)
            try register(Y4MWriter.self)
            try register(RawVideoWriter.self)
            try register(Snapshot.self)
            try register(ContactSheet.self)
            try register(CountObserver.self)
            try register(InvertEditor.self)
            try register(Gain.self)
            try register(Tone.self)
            try register(WAVSource.self)
            try register(RawAudioSource.self)
            try register(CountSpeaker.self)
            try register(LevelSpeaker.self)
            try register(WaveSpeaker.self)
        } catch {
            preconditionFailure("two built-in handlers have the same name: \(error)")
        }
    }
}
