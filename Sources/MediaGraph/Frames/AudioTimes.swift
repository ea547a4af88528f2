import GStreamer

/// What a block's timestamp means.
struct AudioTimes: Sendable {
    var running: ClockTime?
    /// The position in the medium.
    var stream: ClockTime?

    init(running: ClockTime?, stream: ClockTime?) {
        self.running = running
        self.stream = stream
    }

    init(of buffer: BufferAccess, in segment: Segment) {
        running = segment.runningTime(of: buffer.presentationTimestamp)
        stream = segment.streamTime(of: buffer.presentationTimestamp)
    }
}
