import MediaGraphCore

/// Controls a session's cameras and its alpha channel (Zoom's `ZoomVideoSDKVideoHelper`).
///
/// For the alpha channel, first check ``canEnableAlphaChannel`` and ``isAlphaChannelSupported``, then call
/// ``enableAlphaChannel(_:)``; ``isAlphaChannelEnabled`` is the result.
///
/// ```swift
/// let helper = session.videoHelper
/// if helper.canEnableAlphaChannel, helper.isAlphaChannelSupported { try helper.enableAlphaChannel(true) }
/// ```
/// The context's `alphaMask` names the elements that make the alpha. Its `role` must be `host`, and its
/// `allowsRawStreaming` true.
public struct SessionVideoHelper: Sendable {
    let session: Session

    /// Turns the camera off (stopVideo; ZEGO's enableCamera). The others hear of it by
    /// ``SessionEvent/muteChanged(_:_:isMuted:)``, and their pipes are told that the stream is off.
    ///
    /// An external video source gets `stopSend`; a device continues, and its frames are left out. The preview is off too.
    /// May be called at any time: before joining, the user joins with the camera off. When this returns, nothing more is
    /// sent. Throws `noVideo` if the session's context has no such camera.
    public func stopVideo(_ channel: PublishChannel = .main) async throws(MediaGraphError) {
        try await session.mute(channel.camera, true)
    }

    /// Turns the camera on again (startVideo). An external video source gets `startSend`. Throws `noVideo` if the session's
    /// context has no such camera.
    public func startVideo(_ channel: PublishChannel = .main) async throws(MediaGraphError) {
        try await session.mute(channel.camera, false)
    }

    /// Whether the camera is turned on, in the room or outside of it. At first this is ``SessionContext/isVideoOn`` or
    /// ``SessionContext/isAuxVideoOn``; ``startVideo(_:)`` and ``stopVideo(_:)`` change it.
    public func isVideoOn(_ channel: PublishChannel = .main) -> Bool { !session.mutes(channel.camera) }

    /// Whether the user is permitted to enable the alpha channel (canEnableAlphaChannelMode): a host who may stream raw
    /// data.
    public var canEnableAlphaChannel: Bool { node?.canEnable ?? false }

    /// Whether this machine supports the alpha channel (isDeviceSupportAlphaChannelMode). Blocks while the mask's
    /// elements are loaded.
    public var isAlphaChannelSupported: Bool { node?.isSupported ?? false }

    /// Whether the alpha channel is enabled (isAlphaChannelModeEnabled).
    public var isAlphaChannelEnabled: Bool { node?.isEnabled ?? false }

    /// Turns the alpha channel on or off (enableAlphaChannelMode), from the next frame on.
    /// ``SessionDelegate/session(_:alphaChannelIsOn:of:stream:)`` announces the change to every user in the room.
    ///
    /// Turning it on throws `unsupported` if the context has no `alphaMask` or no camera, or if this machine or a
    /// downstream element doesn't support it, and `notPermitted` if the role or the permission is missing.
    public func enableAlphaChannel(_ on: Bool) throws(MediaGraphError) {
        guard let node else {
            guard on else { return }
            throw .unsupported(
                .init("the session's alpha channel", actual: "needs a camera and an alphaMask in the session's context")
            )
        }
        try node.enable(on)
    }

    private var node: AlphaChannelNode? { try? session.graph.alphaChannel("alpha") }
}

extension Session {
    /// Controls the session's cameras and its alpha channel.
    public var videoHelper: SessionVideoHelper { SessionVideoHelper(session: self) }
}
