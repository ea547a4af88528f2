import GStreamer
import MediaGraphCore
import MediaGraphSession

/// The metadata of a buffer whose bytes are in shared memory.
package struct SharedBuffer: Sendable, Hashable {
    /// The number of the memory, unique in the process that made it.
    var memory: UInt64
    /// The size of the whole memory, in bytes.
    var capacity: Int
    /// The size of the buffer, in bytes.
    var length: Int
    /// The presentation timestamp on the machine's monotonic clock, which all processes share, in nanoseconds.
    var moment: UInt64?
    /// The decoding timestamp of encoded media, on the same clock, in nanoseconds.
    var decodingMoment: UInt64?
    /// In nanoseconds.
    var duration: UInt64?
    /// The layout of the planes, if it differs from the default for the caps.
    var layout: VideoLayout?
    /// `VideoOrientation.code`.
    var rotation: Int32
    /// `Flip.rawValue`.
    var flip: Int32
    /// Nanoseconds since 1970.
    var captureTime: UInt64?
    /// `BufferAccess.contentFlags`.
    var flags: UInt32

    /// The same metadata, marked as following lost buffers.
    var discontinuous: SharedBuffer {
        var marked = self
        marked.flags |= BufferAccess.discontinuous
        return marked
    }

    /// Writes the metadata to a buffer.
    func describe(_ buffer: BufferAccess) {
        buffer.presentationTimestamp = moment.map(ClockTime.init(nanoseconds:))
        buffer.decodingTimestamp = decodingMoment.map(ClockTime.init(nanoseconds:))
        buffer.durationNanoseconds = duration
        if let layout { buffer.setVideoLayout(layout) }
        if let orientation = VideoOrientation(code: rotation), orientation != .upright { orientation.mark(buffer) }
        if let flip = Flip(rawValue: flip), flip != .none { Flip.meta.set(flip.rawValue, on: buffer) }
        if let captureTime { buffer.setCaptureTime(unixNanoseconds: captureTime) }
        buffer.contentFlags = flags
    }
}

extension SharedBuffer {
    /// Reads the metadata of a buffer whose bytes were copied into a shared memory. `timing` is that of the buffer's
    /// stream.
    init(_ buffer: BufferAccess, in memory: UInt64, capacity: Int, timing: StreamTiming?) {
        // With base time 0, running time is the time of the system clock. The segment is computed once for both
        // timestamps: if the publisher has another clock, each reading of the two clocks gives a slightly different
        // result.
        let segment = timing?.segment(in: .system, baseTime: .zero)
        func moment(_ timestamp: ClockTime?) -> UInt64? {
            timestamp.flatMap { segment?.runningTime(of: $0) }?.nanoseconds
        }
        self.init(
            memory: memory, capacity: capacity, length: buffer.size, moment: moment(buffer.presentationTimestamp),
            decodingMoment: moment(buffer.decodingTimestamp), duration: buffer.durationNanoseconds,
            layout: buffer.videoLayout, rotation: (VideoOrientation(of: buffer) ?? .upright).code,
            flip: Flip(of: buffer).rawValue, captureTime: buffer.captureUnixNanoseconds, flags: buffer.contentFlags)
    }
}
