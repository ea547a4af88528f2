import GStreamer
import MediaGraphCore

/// What a session's observer of frames has, whether it may write to them or not (Agora's `AgoraVideoDataFrameProtocol`).
///
/// The session puts a `frameobserver` at each of its positions, one for each remote user; where it isn't, there is none.
/// Calls about one of these come one at a time and in order, on that stream's thread; about several they may come at once.
public protocol ObservesSession: AnyObject, Sendable {
    /// Where it sits (getObservedFramePosition); the same as long as a session has it. By default after capture and before
    /// rendering.
    var positions: Set<FramePosition> { get }
    /// As ``ObservesFrames/preference``, at every position.
    var preference: FramePreference { get }
    /// Whether remote frames come with their channel, the room, too (isMultipleChannelFrameWanted). By default they don't.
    var wantsChannels: Bool { get }
    /// As ``ObservesFrames/registered(_:)``, once for each element that it is at.
    func registered(_ registration: ObserverRegistration, at position: FramePosition)
}

extension ObservesSession {
    /// After capture and before rendering.
    public var positions: Set<FramePosition> { [.postCapture, .preRenderer] }
    /// I420, neither rotated nor mirrored.
    public var preference: FramePreference { FramePreference() }
    /// Remote frames come without their channel.
    public var wantsChannels: Bool { false }
    /// Does nothing.
    public func registered(_ registration: ObserverRegistration, at position: FramePosition) {}
}

/// Looks at a session's frames (Agora's registerVideoFrameObserver, read-only). By default every frame passes.
///
/// `.drop` keeps a frame from going on: to the pre-processor, to the others, or to the user's pipe. A thrown error ends the
/// session, as any ``FrameObserver``'s.
public protocol SessionFrameObserver: ObservesSession {
    /// This user's, as it was captured (onCaptureVideoFrame).
    func captured(_ frame: borrowing VideoFrame) throws -> Verdict
    /// This user's, behind pre-processing (onPreEncodeVideoFrame).
    func willEncode(_ frame: borrowing VideoFrame) throws -> Verdict
    /// Another user's (onRenderVideoFrame), unless `wantsChannels`.
    func received(_ frame: borrowing VideoFrame, from user: SessionUser) throws -> Verdict
    /// Another user's, with the room (onRenderVideoFrameEx), where `wantsChannels`.
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

/// Edits a session's frames in place: what it writes is what goes on, as a ``FrameEditor``'s. Its calls are a
/// ``SessionFrameObserver``'s.
public protocol SessionFrameEditor: ObservesSession {
    func captured(_ frame: inout VideoFrame) throws -> Verdict
    func willEncode(_ frame: inout VideoFrame) throws -> Verdict
    func received(_ frame: inout VideoFrame, from user: SessionUser) throws -> Verdict
    func received(_ frame: inout VideoFrame, from user: SessionUser, in channel: String) throws -> Verdict
}

extension SessionFrameEditor {
    /// Passes the frame as it is.
    public func captured(_ frame: inout VideoFrame) -> Verdict { .pass }
    /// Passes the frame as it is.
    public func willEncode(_ frame: inout VideoFrame) -> Verdict { .pass }
    /// Passes the frame as it is.
    public func received(_ frame: inout VideoFrame, from user: SessionUser) -> Verdict { .pass }
    /// Passes the frame as it is.
    public func received(_ frame: inout VideoFrame, from user: SessionUser, in channel: String) -> Verdict { .pass }
}
