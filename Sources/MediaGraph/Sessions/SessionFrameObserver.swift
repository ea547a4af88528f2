import GStreamer
import MediaGraphCore

/// The common part of a session's frame observers, whether they only read frames or edit them (Agora's
/// `AgoraVideoDataFrameProtocol`).
///
/// The session adds a `frameobserver` element at each of the observer's positions; before rendering, one for each
/// remote user. Calls for one element come one at a time and in order, on that stream's thread. Calls for several
/// elements may overlap. Second cameras and shares aren't observed.
public protocol ObservesSession: AnyObject, Sendable {
    /// The positions at which the observer gets frames (getObservedFramePosition). They must not change while a session
    /// uses the observer. The default is after capture and before rendering.
    var positions: Set<FramePosition> { get }
    /// How the observer wants its frames, at every position. See ``FrameObserving/preference``.
    var preference: FramePreference { get }
    /// Whether remote frames are delivered with their channel, which is the room (isMultipleChannelFrameWanted). The
    /// default is false.
    var wantsChannels: Bool { get }
    /// Called once for each element that the session adds. See ``FrameObserving/registered(_:)``.
    func registered(_ registration: ObserverRegistration, at position: FramePosition)
}

extension ObservesSession {
    /// After capture and before rendering.
    public var positions: Set<FramePosition> { [.postCapture, .preRenderer] }
    /// I420, neither rotated nor mirrored.
    public var preference: FramePreference { FramePreference() }
    /// Remote frames are delivered without their channel.
    public var wantsChannels: Bool { false }
    /// Does nothing.
    public func registered(_ registration: ObserverRegistration, at position: FramePosition) {}
}

/// Observes a session's frames without changing them (Agora's registerVideoFrameObserver in read-only mode). The
/// default implementations pass every frame.
///
/// A method with another signature than one of these isn't called. Return `.drop` to keep a frame from the pre-processor, from the other users, or from the user's pipe, depending on
/// the position. A thrown error costs what ``SessionContext/onError`` says, by default nothing but a warning.
public protocol SessionFrameObserver: ObservesSession {
    /// Called with each frame of the local user's main camera, as it was captured (onCaptureVideoFrame).
    func captured(_ frame: borrowing VideoFrame) throws -> Verdict
    /// Called with each frame of the local user's main camera after pre-processing (onPreEncodeVideoFrame).
    func willEncode(_ frame: borrowing VideoFrame) throws -> Verdict
    /// Called with each frame of another user's main camera if `wantsChannels` is false (onRenderVideoFrame).
    func received(_ frame: borrowing VideoFrame, from user: SessionUser) throws -> Verdict
    /// Called with each frame of another user's main camera, and the room, if `wantsChannels` is true
    /// (onRenderVideoFrameEx).
    func received(_ frame: borrowing VideoFrame, from user: SessionUser, in channel: String) throws -> Verdict
}

extension SessionFrameObserver {
    /// Passes the frame.
    public func captured(_ frame: borrowing VideoFrame) -> Verdict { .pass }
    /// Passes the frame.
    public func willEncode(_ frame: borrowing VideoFrame) -> Verdict { .pass }
    /// Passes the frame.
    public func received(_ frame: borrowing VideoFrame, from user: SessionUser) -> Verdict { .pass }
    /// Passes the frame.
    public func received(_ frame: borrowing VideoFrame, from user: SessionUser, in channel: String) -> Verdict { .pass }
}

/// Edits a session's frames in place (Agora's registerVideoFrameObserver in read-write mode), as a ``FrameEditor``
/// does. The methods correspond to those of ``SessionFrameObserver``. The default implementations pass every frame
/// unchanged.
public protocol SessionFrameEditor: ObservesSession {
    /// Called with each frame of the local user, as it was captured.
    func captured(_ frame: inout VideoFrame) throws -> Verdict
    /// Called with each frame of the local user after pre-processing.
    func willEncode(_ frame: inout VideoFrame) throws -> Verdict
    /// Called with each frame of another user if `wantsChannels` is false.
    func received(_ frame: inout VideoFrame, from user: SessionUser) throws -> Verdict
    /// Called with each frame of another user, and the room, if `wantsChannels` is true.
    func received(_ frame: inout VideoFrame, from user: SessionUser, in channel: String) throws -> Verdict
}

extension SessionFrameEditor {
    /// Passes the frame unchanged.
    public func captured(_ frame: inout VideoFrame) -> Verdict { .pass }
    /// Passes the frame unchanged.
    public func willEncode(_ frame: inout VideoFrame) -> Verdict { .pass }
    /// Passes the frame unchanged.
    public func received(_ frame: inout VideoFrame, from user: SessionUser) -> Verdict { .pass }
    /// Passes the frame unchanged.
    public func received(_ frame: inout VideoFrame, from user: SessionUser, in channel: String) -> Verdict { .pass }
}
