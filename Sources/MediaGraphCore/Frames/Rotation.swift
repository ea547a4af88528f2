import GStreamer

/// How far a frame must be turned clockwise to stand upright, after its ``Flip``. It travels with the frame as a `GstMeta`;
/// frames without one have what the stream's `image-orientation` tag says.
public enum Rotation: Int32, Sendable, CaseIterable, Hashable {
    case none = 0
    case clockwise90 = 90
    case clockwise180 = 180
    case clockwise270 = 270

    /// Its value is a `VideoOrientation.code`.
    package static let meta = IntegerMeta(name: "MediaGraphRotationMeta")

    /// What the buffer itself says; one that says nothing is upright.
    package init(of buffer: BufferAccess) { self = VideoOrientation(of: buffer)?.rotation ?? .none }
}

extension VideoOrientation {
    var rotation: Rotation { Rotation(rawValue: degrees) ?? .none }

    init(_ rotation: Rotation) { self.init(quarterTurns: rotation.rawValue / 90) }

    /// What the buffer itself says; `nil` where it says nothing.
    @usableFromInline package init?(of buffer: BufferAccess) {
        guard let code = Rotation.meta.value(of: buffer) else { return nil }
        self.init(code: code)
    }

    /// Says it on the buffer, which must be writable.
    package func mark(_ buffer: BufferAccess) { Rotation.meta.set(code, on: buffer) }

    /// What is to be flipped in the frame as it lies, beside what the mirror mode asks for.
    @inlinable package var flip: Flip { isFlipped ? .x : .none }
}

extension TaggedOrientation {
    /// The orientation of a frame: its own, or else the tag's.
    @inlinable @inline(__always)
    package func orientation(of buffer: BufferAccess) -> VideoOrientation {
        guard let own = VideoOrientation(of: buffer) else { return pending }
        // What was turned by the tag was turned with its meta on it.
        return applied == .upright ? own : applied.inverse.followed(by: own)
    }
}
