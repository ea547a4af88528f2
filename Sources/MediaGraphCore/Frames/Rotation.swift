import GStreamer

/// The clockwise rotation that shows a frame upright, once it is flipped by its ``Flip``. It travels with the frame as
/// a `GstMeta`; frames without the meta have the rotation of the stream's `image-orientation` tag.
public enum Rotation: Int32, Sendable, CaseIterable, Hashable {
    /// The frame is upright.
    case none = 0
    /// 90 degrees clockwise.
    case clockwise90 = 90
    /// 180 degrees.
    case clockwise180 = 180
    /// 270 degrees clockwise.
    case clockwise270 = 270

    /// The meta; its value is a `VideoOrientation.code`.
    package static let meta = IntegerMeta(name: "MediaGraphRotationMeta")

    /// The rotation in the buffer's meta; `none` if it has no meta.
    package init(of buffer: BufferAccess) { self = VideoOrientation(of: buffer)?.rotation ?? .none }
}

extension VideoOrientation {
    var rotation: Rotation { Rotation(rawValue: degrees) ?? .none }

    init(_ rotation: Rotation) { self.init(quarterTurns: rotation.rawValue / 90) }

    /// The orientation in the buffer's meta; `nil` if it has no meta.
    @usableFromInline package init?(of buffer: BufferAccess) {
        guard let code = Rotation.meta.value(of: buffer) else { return nil }
        self.init(code: code)
    }

    /// Writes the orientation to the buffer's meta. The buffer must be writable.
    package func mark(_ buffer: BufferAccess) { Rotation.meta.set(code, on: buffer) }

    /// The orientation that this flip undoes.
    package init(_ flip: Flip) {
        self.init(
            quarterTurns: flip == .y || flip == .xy ? 2 : 0, isFlipped: flip == .x || flip == .y)
    }

    /// Returns how a node changes a frame with this orientation to turn it upright, to mirror it, or both. Mirroring
    /// is the same with and without turning: see ``Flip/mirroring(_:)``.
    package func change(rotates: Bool, mirrors: Bool) -> VideoOrientation {
        let mirror = mirrors ? VideoOrientation(Flip.mirroring(self)) : .upright
        return rotates ? mirror.followed(by: self) : mirror
    }

    /// The flip that makes the picture upright, without the flip that the mirror mode asks for.
    @inlinable package var flip: Flip { isFlipped ? .x : .none }
}

extension TaggedOrientation {
    /// Returns the orientation of a frame: from its meta, or otherwise from the stream's tag.
    @inlinable @inline(__always)
    package func orientation(of buffer: BufferAccess) -> VideoOrientation {
        guard let own = VideoOrientation(of: buffer) else { return pending }
        // A frame that was turned to undo the tag still carries its meta unchanged.
        return applied == .upright ? own : applied.inverse.followed(by: own)
    }
}
