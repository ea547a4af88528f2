import MediaGraphCore

/// The properties of `virtualspeaker`.
struct SpeakerSettings: HandlerSettings {
    var handler = ""
    var options = ""
    var rate: Int32 = 48_000
    var channels: Int32 = 1
    var memoryMode = MemoryModeSetting()
    var backPressure = BackPressure.auto
    var maxFrames: Int32 = 200
    var onError = FailurePolicy.stop
    /// In nanoseconds.
    var latency: UInt64 = 0
    /// In nanoseconds.
    var minUpstreamLatency: UInt64 = 0
}
