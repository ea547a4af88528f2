import GStreamer

/// What a block's timestamp means.
package struct AudioTimes: Sendable {
    package var running: ClockTime?
    /// The position in the medium.
    package var stream: ClockTime?

    package init(running: ClockTime?, stream: ClockTime?) {
        self.running = running
        self.stream = stream
    }
}

extension AudioTimes {
    package init(of buffer: BufferAccess, in segment: Segment) {
        running = segment.runningTime(of: buffer.presentationTimestamp)
        stream = segment.streamTime(of: buffer.presentationTimestamp)
    }
}
