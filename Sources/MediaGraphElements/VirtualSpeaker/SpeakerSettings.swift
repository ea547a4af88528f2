import MediaGraphCore

/// The properties of `virtualspeaker`.
struct SpeakerSettings: HandlerSettings {
    var handler = ""
    var options = ""
    var rate = Int32(SpeakerFormat().sampleRate)
    var channels = Int32(SpeakerFormat().channelCount)
    var memoryMode = MemoryModeSetting()
    var backPressure = BackPressure.auto
    var maxFrames: Int32 = 200
    var onError = FailurePolicy.stop
    /// In nanoseconds.
    var latency: UInt64 = 0
    /// In nanoseconds.
    var minUpstreamLatency: UInt64 = 0
}
