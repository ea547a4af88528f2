import MediaGraphCore

/// A session's alpha channel (Zoom's `ZoomVideoSDKVideoHelper`): ask, in this order, whether it can be enabled, whether the
/// device supports it, enable it, and see whether it is.
///
/// ```swift
/// let helper = session.videoHelper
/// if helper.canEnableAlphaChannel, helper.isAlphaChannelSupported { try helper.enableAlphaChannel(true) }
/// ```
/// The context names what makes the alpha (`alphaMask`), and gives the host's role and the permission that it takes.
public struct SessionVideoHelper: Sendable {
    let session: Session

    /// Whether this user may (canEnableAlphaChannelMode): a host, with the permission to stream raw data.
    public var canEnableAlphaChannel: Bool { node?.canEnable ?? false }

    /// Whether this machine can (isDeviceSupportAlphaChannelMode). Blocks while the mask's elements are loaded.
    public var isAlphaChannelSupported: Bool { node?.isSupported ?? false }

    /// Whether it is on (isAlphaChannelModeEnabled).
    public var isAlphaChannelEnabled: Bool { node?.isEnabled ?? false }

    /// Turns it on or off (enableAlphaChannelMode), from the next frame on, which
    /// ``SessionDelegate/session(_:alphaChannelIsOn:)`` announces.
    ///
    /// On throws `unsupported` in a session without a mask or a camera, `notPermitted` where the role or the permission is
    /// missing, and `unsupported` where the machine, or what is behind, can't take part.
    public func enableAlphaChannel(_ on: Bool) throws(MediaGraphError) {
        guard let node else {
            guard on else { return }
            throw .unsupported(
                .init(
                    "the session's alpha channel", expected: "a camera, and an alphaMask in the context", actual: "none"
                ))
        }
        try node.enable(on)
    }

    private var node: AlphaChannelNode? { try? session.graph.alphaChannel("alpha") }
}

extension Session {
    /// Controls the session's video.
    public var videoHelper: SessionVideoHelper { SessionVideoHelper(session: self) }
}
