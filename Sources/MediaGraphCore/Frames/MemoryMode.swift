import CMediaGraphABI
import GStreamer

/// How frames may be retained beyond the call that receives them (the SDKs' raw data memory mode).
///
/// Delegates, handlers and closures borrow their frames in both modes, and may retain them. A sequence of frames owns
/// them, so it needs `heap`.
public enum MemoryMode: Int32, PropertyEnum {
    /// Frames are borrowed. Retaining a frame never copies it, and fails if its buffer's pool has no buffer to spare.
    case stack
    /// Frames may be kept without limit. Retaining a frame copies it if its buffer's pool has no buffer to spare.
    case heap

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphMemoryMode"
    /// The value's description in `mediagraph inspect`.
    public var blurb: String {
        self == .stack
            ? "Frames are borrowed; retaining one never copies it, and fails at its pool's limit"
            : "Frames may be kept without limit; retaining one copies it at its pool's limit"
    }
}

extension KeptBuffer {
    /// Keeps the buffer of a borrowed frame, or a copy of it: in `heap` mode if the buffer's pool is at its limit, and
    /// always if the frame may still be edited. Throws `allocationFailed` if the pool is at its limit in `stack` mode.
    init(_ buffer: BufferAccess, memoryMode: Int32, isEdited: Bool = false) throws(MediaGraphError) {
        if !isEdited, let kept = KeptBuffer(keeping: buffer) {
            self = kept
        } else if isEdited || memoryMode == MG_HEAP {
            self = KeptBuffer(copying: buffer)
        } else {
            throw .poolLimit
        }
    }

    /// Whether the other initializer would succeed.
    static func canKeep(_ buffer: BufferAccess, memoryMode: Int32, isEdited: Bool = false) -> Bool {
        isEdited || memoryMode == MG_HEAP || buffer.canBeKept
    }
}

extension MediaGraphError {
    static var poolLimit: MediaGraphError {
        .allocationFailed(
            .init(
                "can't retain the frame",
                actual: "all buffers of its pool are retained; release some, or set memory-mode=heap"))
    }
}
