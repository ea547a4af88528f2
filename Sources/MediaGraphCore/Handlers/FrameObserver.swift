import GStreamer
import Synchronization

/// How a frame observer wants its frames (Agora's getVideoFormatPreference, getRotationApplied, getMirrorApplied).
///
/// Converting a frame between RGB and YUV and back changes values by a few levels, even if the observer edits nothing:
/// prefer the stream's own format where that matters. Frames in `i422` and `a420` can't be rotated or mirrored; the
/// observer then gets none, and there is a warning.
public struct FramePreference: Sendable, Hashable {
    /// The pixel format of the frames.
    public var format: VideoFormat
    /// Whether frames are turned upright first, by the rotation that travels with them. Their rotation is then
    /// `Rotation.none`.
    public var appliesRotation: Bool
    /// Whether frames are mirrored first, which swaps left and right of the upright picture. A frame that must still be
    /// turned by 90 or 270 degrees is therefore flipped vertically.
    public var appliesMirror: Bool

    /// Creates a preference; by default for I420 frames that are neither rotated nor mirrored.
    public init(format: VideoFormat = .i420, appliesRotation: Bool = false, appliesMirror: Bool = false) {
        self.format = format
        self.appliesRotation = appliesRotation
        self.appliesMirror = appliesMirror
    }
}

/// The common requirements of ``FrameObserver`` and ``FrameEditor``.
///
/// All calls are made one at a time. `preference` is read once, before the first frame, and again before the next frame
/// after the observer has called ``ObserverRegistration/preferenceChanged()``. New caps and new runs don't read it
/// again.
public protocol FrameObserving: SendableMetatype {
    /// How the observer wants its frames. The default is I420, neither rotated nor mirrored.
    var preference: FramePreference { get }
    /// Called once, before any other method, on the thread that gives the observer to its node.
    mutating func registered(_ registration: ObserverRegistration)
}

extension FrameObserving {
    /// I420, neither rotated nor mirrored.
    public var preference: FramePreference { FramePreference() }
    /// Does nothing.
    public mutating func registered(_ registration: ObserverRegistration) {}
}

/// Sees the frames of a stream without changing them (Agora's read-only video frame observer): `frameobserver
/// mode=read-only`.
///
/// `observe` is called on the streaming thread with the stream lock held, so upstream waits meanwhile. The stream's
/// buffer passes unchanged. The observer sees that buffer if it matches the preference, and otherwise a converted copy.
public protocol FrameObserver: FrameObserving {
    /// Called for each frame, which is borrowed for the call. Return `.drop` to drop the frame. A thrown error ends the
    /// graph, unless the node's `on-error` says otherwise.
    mutating func observe(_ frame: borrowing VideoFrame) throws -> Verdict
}

/// Edits the frames of a stream (Agora's read-write video frame observer): `frameobserver mode=read-write`.
///
/// The edited frame continues in the stream's format and orientation: if the editor's preference differs, the frame is
/// converted, rotated or mirrored for the editor, and back again afterwards.
public protocol FrameEditor: FrameObserving {
    /// Called for each frame, to edit it in place. The frame is borrowed for the call. Return `.drop` to drop the
    /// frame. A thrown error ends the graph, unless the node's `on-error` says otherwise.
    mutating func edit(_ frame: inout VideoFrame) throws -> Verdict
}

/// An observer's connection to its node.
public struct ObserverRegistration: Sendable {
    private let node: WeakElement
    private let tenure: ObserverTenure

    init(_ node: WeakElement, _ tenure: ObserverTenure) {
        self.node = node
        self.tenure = tenure
    }

    /// Makes the node read the observer's `preference` again before the next frame. May be called on any thread, also
    /// inside `observe` and `edit`. Does nothing after the node was destroyed or has released the observer.
    public func preferenceChanged() {
        guard !tenure.isOver.load(ordering: .relaxed), let element = node.element else { return }
        NodeVTable.observerChanged(element)
    }
}

/// Whether an observer's node has released it. Its registration is then ignored, because the node may have another
/// observer.
final class ObserverTenure: Sendable {
    let isOver = Atomic<Bool>(false)
}

/// The position of an observer in a call (Agora's observed frame position). It is a label; the element does the same at
/// each position.
public enum FramePosition: Int32, PropertyEnum {
    /// Local frames after capture.
    case postCapture
    /// Local frames after pre-processing, before they are sent.
    case preEncoder
    /// Remote frames before they are shown.
    case preRenderer

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphFramePosition"
    /// The value's name in descriptions.
    public var nick: String {
        switch self {
        case .postCapture: "post-capture"
        case .preEncoder: "pre-encoder"
        case .preRenderer: "pre-renderer"
        }
    }
    /// The value's description in `mediagraph inspect`.
    public var blurb: String {
        switch self {
        case .postCapture: "Local frames as they were captured"
        case .preEncoder: "Local frames after pre-processing, before they are sent"
        case .preRenderer: "Remote frames before they are shown"
        }
    }
}

/// Whether an observer may change frames.
public enum ObserverMode: Int32, PropertyEnum {
    /// The handler is a ``FrameObserver``.
    case readOnly
    /// The handler is a ``FrameEditor``.
    case readWrite

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphObserverMode"
    /// The value's name in descriptions.
    public var nick: String { self == .readOnly ? "read-only" : "read-write" }
    /// The value's description in `mediagraph inspect`.
    public var blurb: String {
        self == .readOnly ? "The observer doesn't change the stream" : "The observer may edit frames"
    }
}
