import GStreamer

/// What a block's timestamp means.
struct AudioTimes: Sendable {
    var running: ClockTime?
    /// The position in the medium.
    var stream: ClockTime?
}

extension AudioTimes {
    init(of buffer: BufferAccess, in segment: Segment) {
        running = segment.runningTime(of: buffer.presentationTimestamp)
        stream = segment.streamTime(of: buffer.presentationTimestamp)
    }
}
