import GStreamer
import Synchronization

/// What a frame observer wants its frames to be (Agora's getVideoFormatPreference, getRotationApplied, getMirrorApplied).
public struct FramePreference: Sendable, Hashable {
    /// One of the eleven that the nodes carry.
    public var format: VideoFormat
    /// Frames are turned upright first, by the rotation that travels with each; they then say `Rotation.none`.
    public var appliesRotation: Bool
    /// Frames are mirrored first, left to right as they stand upright.
    public var appliesMirror: Bool

    /// I420, neither rotated nor mirrored, unless told otherwise.
    public init(format: VideoFormat = .i420, appliesRotation: Bool = false, appliesMirror: Bool = false) {
        self.format = format
        self.appliesRotation = appliesRotation
        self.appliesMirror = appliesMirror
    }
}

/// What every observer of frames has, whether it may write to them or not.
///
/// All calls come one at a time. `preference` is asked for once, before the first frame, and again before the next frame once
/// the observer has called ``ObserverRegistration/preferenceChanged()``; new caps and new runs are no reason to ask.
public protocol ObservesFrames: SendableMetatype {
    /// The default is I420, neither turned nor mirrored.
    var preference: FramePreference { get }
    /// Once, before anything else, on the thread that gives the observer to its node.
    mutating func registered(_ registration: ObserverRegistration)
}

extension ObservesFrames {
    /// I420, neither rotated nor mirrored.
    public var preference: FramePreference { FramePreference() }
    /// Does nothing.
    public mutating func registered(_ registration: ObserverRegistration) {}
}

/// Looks at frames that pass a place (Agora's video frame observer, read-only): `frameobserver mode=read-only`.
///
/// `observe` runs on the streaming thread, the stream lock held: upstream waits as long. The stream's own buffer goes on as it
/// is. The observer sees that very buffer where its preference is what the stream has, and else a converted copy.
public protocol FrameObserver: ObservesFrames {
    /// One frame, borrowed for the call. `.drop` keeps it from going on. A thrown error ends the graph, unless
    /// the node's `on-error` says otherwise.
    mutating func observe(_ frame: borrowing VideoFrame) throws -> Verdict
}

/// Edits frames that pass a place (Agora's video frame observer, read-write): `frameobserver mode=read-write`.
///
/// What it writes is what goes on, in the format and orientation that the stream has: where its preference differs, the frame
/// is converted, turned or mirrored for it, and back again behind it.
public protocol FrameEditor: ObservesFrames {
    /// One frame to edit in place, borrowed for the call. `.drop` keeps it from going on. A thrown error ends the graph,
    /// unless the node's `on-error` says otherwise.
    mutating func edit(_ frame: inout VideoFrame) throws -> Verdict
}

/// An observer's place at its node.
public struct ObserverRegistration: Sendable {
    private let node: WeakElement
    private let tenure: ObserverTenure

    init(_ node: WeakElement, _ tenure: ObserverTenure) {
        self.node = node
        self.tenure = tenure
    }

    /// The observer's `preference` is asked for again before the next frame. Any thread, also inside `observe` and `edit`.
    /// Nothing once the node is gone, or has let go of the observer.
    public func preferenceChanged() {
        guard !tenure.isOver.load(ordering: .relaxed), let element = node.element else { return }
        NodeVTable.observerChanged(element)
    }
}

/// Whether an observer's node has let go of it: what it says then is no other's word.
final class ObserverTenure: Sendable {
    let isOver = Atomic<Bool>(false)
}

/// Where in a call an observer sits (Agora's observed frame position). It says so itself: the element does the same at each.
public enum FramePosition: Int32, PropertyEnum {
    case postCapture, preEncoder, preRenderer

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
    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .postCapture: "Local frames as they were captured"
        case .preEncoder: "Local frames after pre-processing, before they are sent"
        case .preRenderer: "Remote frames before they are shown"
        }
    }
}

/// Whether an observer may write to frames.
public enum ObserverMode: Int32, PropertyEnum {
    case readOnly, readWrite

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphObserverMode"
    /// The value's name in descriptions.
    public var nick: String { self == .readOnly ? "read-only" : "read-write" }
    /// What the value means, for `inspect`.
    public var blurb: String {
        self == .readOnly ? "The observer only looks; the stream's buffers go by as they are" : "What it writes goes on"
    }
}
