import GStreamer
import MediaGraphCore
import MediaGraphSession

/// What a buffer in shared memory says beside its bytes.
package struct SharedBuffer: Sendable, Hashable {
    /// Which memory: its number with the process that made it.
    var memory: UInt64
    /// How large that memory is as a whole.
    var capacity: Int
    var length: Int
    /// The presentation timestamp on the machine's monotonic clock, which all processes share; nanoseconds.
    var moment: UInt64?
    /// The decoding timestamp, on the same clock; of encoded media.
    var decodingMoment: UInt64?
    var duration: UInt64?
    /// How the planes lie, where not as the caps say by default.
    var layout: VideoLayout?
    /// `VideoOrientation.code`.
    var rotation: Int32
    var flip: Int32
    /// Unix nanoseconds.
    var captureTime: UInt64?
    /// What the bytes are: `BufferAccess.contentFlags`.
    var flags: UInt32

    /// The same, but that others before it were lost.
    var discontinuous: SharedBuffer {
        var marked = self
        marked.flags |= BufferAccess.discontinuous
        return marked
    }

    /// Says the same of another buffer.
    func describe(_ buffer: BufferAccess) {
        buffer.presentationTimestamp = moment.map(ClockTime.init(nanoseconds:))
        buffer.decodingTimestamp = decodingMoment.map(ClockTime.init(nanoseconds:))
        buffer.duration = duration.map(ClockTime.init(nanoseconds:))
        if let layout { buffer.setVideoLayout(layout) }
        if let orientation = VideoOrientation(code: rotation), orientation != .upright { orientation.mark(buffer) }
        if let flip = Flip(rawValue: flip), flip != .none { Flip.meta.set(flip.rawValue, on: buffer) }
        if let captureTime { buffer.setCaptureTime(captureTime) }
        buffer.contentFlags = flags
    }
}

extension SharedBuffer {
    init(_ buffer: BufferAccess, in memory: UInt64, capacity: Int, timing: StreamTiming?) {
        // Running time as it would be where time counts from the clock's own beginning. Once for both timestamps: where the
        // clocks are two, each look at them differs a little.
        let segment = timing?.segment(in: .system, baseTime: .zero)
        func moment(_ timestamp: ClockTime?) -> UInt64? {
            timestamp.flatMap { segment?.runningTime(of: $0) }?.nanoseconds
        }
        self.init(
            memory: memory, capacity: capacity, length: buffer.size, moment: moment(buffer.presentationTimestamp),
            decodingMoment: moment(buffer.decodingTimestamp), duration: buffer.duration?.nanoseconds,
            layout: buffer.videoLayout, rotation: (VideoOrientation(of: buffer) ?? .upright).code,
            flip: Flip(of: buffer).rawValue, captureTime: buffer.captureTime, flags: buffer.contentFlags)
    }
}
