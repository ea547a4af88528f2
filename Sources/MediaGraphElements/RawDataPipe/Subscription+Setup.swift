import GStreamer
import MediaGraphCore

extension Subscription {
    /// The settings of a run.
    struct Setup {
        /// The delivered format; `nil` to keep the stream's format if the receiver supports it.
        var format: VideoFormat?
        /// Whether frames that have an alpha plane are delivered as A420 instead of I420.
        var keepsAlpha = false
        var resolution = Resolution.native
        var policy = OverflowPolicy.block
        var maxFrames = 1
        var bufferType = BufferType.raw
        var memoryMode = MemoryModeSetting()
        var appliesRotation = false
        var appliesMirror = false
        var onError = FailurePolicy.stop
        /// The current stream at the time of subscribing.
        var stream: StreamStart?
        /// The orientation in the stream's tags at that time.
        var tagged = TaggedOrientation()

        /// Returns the settings of a receiver with its own resolution and format. Without them, the pipe's remain.
        func with(_ resolution: Resolution?, _ format: PipeFormat) -> Setup {
            var own = self
            own.resolution = resolution ?? own.resolution
            // Frames in a format that the receiver has asked for don't keep their alpha plane.
            if let format = format.format { (own.format, own.keepsAlpha) = (format, false) }
            return own
        }
    }
}
