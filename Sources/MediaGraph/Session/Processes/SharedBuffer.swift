import GStreamer

/// What a buffer in shared memory says beside its bytes.
struct SharedBuffer: Sendable {
    /// Which memory: its number with the process that made it.
    var memory: UInt64
    /// How large that memory is as a whole.
    var capacity: Int
    var length: Int
    /// Of the presentation timestamp, on the machine's monotonic clock, which all processes share.
    var moment: ClockTime?
    var duration: ClockTime?
    /// How the planes lie, where not as the caps say by default.
    var layout: VideoLayout?
    var rotation: Rotation
    var flip: Flip
    /// Unix nanoseconds.
    var captureTime: UInt64?
    var isGap: Bool

    init(_ buffer: BufferAccess, in memory: UInt64, capacity: Int, moment: ClockTime?) {
        self.memory = memory
        self.capacity = capacity
        length = buffer.size
        self.moment = moment
        duration = buffer.duration
        layout = buffer.videoLayout
        rotation = Rotation(of: buffer)
        flip = Flip(of: buffer)
        captureTime = buffer.captureTime
        isGap = buffer.isGap
    }

    var fields: [(String, any ValueConvertible)] {
        var fields: [(String, any ValueConvertible)] = [
            ("memory", memory), ("capacity", UInt64(capacity)), ("length", UInt64(length)),
            ("rotation", rotation.rawValue), ("flip", flip.rawValue), ("gap", isGap),
        ]
        if let moment { fields.append(("moment", moment.nanoseconds)) }
        if let duration { fields.append(("duration", duration.nanoseconds)) }
        if let captureTime { fields.append(("captured", captureTime)) }
        if let layout { fields.append(("layout", layout.text)) }
        return fields
    }

    init?(_ structure: Structure) {
        guard let memory: UInt64 = structure["memory"], let capacity: UInt64 = structure["capacity"],
            let length: UInt64 = structure["length"], length <= capacity, capacity <= UInt64(Int32.max),
            let rotation = structure["rotation", as: Int32.self].flatMap(Rotation.init),
            let flip = structure["flip", as: Int32.self].flatMap(Flip.init)
        else { return nil }
        self.memory = memory
        self.capacity = Int(capacity)
        self.length = Int(length)
        self.rotation = rotation
        self.flip = flip
        moment = structure["moment", as: UInt64.self].map(ClockTime.init(nanoseconds:))
        duration = structure["duration", as: UInt64.self].map(ClockTime.init(nanoseconds:))
        captureTime = structure["captured"]
        layout = structure["layout", as: String.self].flatMap(VideoLayout.init)
        isGap = structure["gap"] ?? false
    }

    /// Says the same of another buffer.
    func describe(_ buffer: BufferAccess) {
        buffer.presentationTimestamp = moment
        buffer.duration = duration
        if let layout { buffer.setVideoLayout(layout) }
        if rotation != .none { Rotation.meta.set(rotation.rawValue, on: buffer) }
        if flip != .none { Flip.meta.set(flip.rawValue, on: buffer) }
        if let captureTime { buffer.setCaptureTime(captureTime) }
        buffer.isGap = isGap
    }
}
