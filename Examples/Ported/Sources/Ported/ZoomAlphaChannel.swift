import MediaGraph

// Ported from the Zoom Video SDK's "Remove backgrounds with an alpha channel": turning it on, its callback, and
// alphaBuffer (Swift and Objective-C).
//
// Changes besides names: what makes the mask is part of the context, as are the role and the permission, which the SDK takes
// from a token. Turning it on throws.
//
// Faults of the original: it asks whether the device supports alpha, and later whether alpha is on, and ignores both
// answers. The alpha plane is an address and a length; here it is a plane.

private final class MyDelegate: SessionDelegate, RawDataDelegate {
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    func session(
        _ session: Session, alphaChannelIsOn isAlphaChannelOn: Bool, of user: SessionUser, stream: UserStream
    ) {
        lines.add("alpha channel of \(user.name): \(isAlphaChannelOn)")
    }

    func received(_ rawData: borrowing VideoFrame, from pipe: PipeIdentity) {
        // Only if alpha data exists; otherwise nil.
        if let alphaBuffer = rawData.alpha {
            lines.add("alpha frame: alphaBufferLen \(alphaBuffer.byteCount), first alpha \(alphaBuffer.row(0)[0])")
        } else {
            lines.add("frame without alpha")
        }
    }
}

extension Sample {
    static let zoomAlphaChannel = Sample(
        name: "zoom-alpha-channel", summary: "alpha channel mode, turned on in a session, with a green screen"
    ) { frames in
        let lines = Lines()
        let call = try await Call(alice: {
            $0.camera = "videotestsrc is-live=true pattern=green ! video/x-raw,width=320,height=180,framerate=30/1"
            $0.alphaMask = "alpha method=green"
            ($0.role, $0.allowsRawStreaming) = (.host, true)
        })
        let delegate = MyDelegate(lines)
        call.bob.delegate = delegate
        try call.user.videoPipe.subscribe(delegate, resolution: .p720)
        try await lines.wait(for: frames, "frame without alpha")

        let videoHelper = call.alice.videoHelper
        if videoHelper.canEnableAlphaChannel {
            // Whether the hardware is capable of the alpha channel.
            lines.add("the device supports it: \(videoHelper.isAlphaChannelSupported)")
            try videoHelper.enableAlphaChannel(true)
            lines.add("is enabled: \(videoHelper.isAlphaChannelEnabled)")
        }
        try await lines.wait(for: frames, "alpha frame")
        await call.leave()
        return withExtendedLifetime(delegate) { lines.all }
    }
}
