import MediaGraph

// Ported from Agora's AgoraVideoDataFrameProtocol: an observer with all required methods, in read-write mode.
//
// Changes besides names: one property holds the three preferences; a verdict is an enum; a user has a name; reading and
// editing are two protocols.
//
// Faults of the original: YES and NO are both documented as "if the video frame processing fails", so it is unclear
// which of them keeps a frame. A frame in RGBA can't be written back. Frames before the encoder are documented as not
// pre-processed, which is true of captured frames only. The format, rotation and mirror are queried for each frame.
// onRenderVideoFrame and onRenderVideoFrameEx are both required, although only one of them is ever called.

private final class MyVideoFrameObserver: SessionFrameEditor {
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    // onCaptureVideoFrame: draws a light gray corner into a frame that hasn't been pre-processed yet.
    func captured(_ videoFrame: inout VideoFrame) throws -> Verdict {
        lines.add("captured: \(try describe(videoFrame))")
        var pixels = try videoFrame.mutablePlane(.packed)
        for y in 0..<16 {
            var row = pixels.row(y)
            for x in 0..<16 * 4 where x % 4 != 3 { row[x] = 200 }
        }
        return .pass
    }

    // onPreEncodeVideoFrame: the pre-processed frame that will be sent.
    func willEncode(_ videoFrame: inout VideoFrame) throws -> Verdict {
        lines.add("sent: \(try describe(videoFrame))")
        return .pass
    }

    // onRenderVideoFrame:forUid:
    func received(_ videoFrame: inout VideoFrame, from user: SessionUser) throws -> Verdict {
        lines.add("received: user \(user.name), \(try describe(videoFrame))")
        return .drop
    }

    // getVideoFormatPreference, getRotationApplied, getMirrorApplied
    var preference: FramePreference { FramePreference(format: .rgba, appliesRotation: true, appliesMirror: false) }

    // getObservedFramePosition
    let positions: Set<FramePosition> = [.postCapture, .preEncoder, .preRenderer]

    // isMultipleChannelFrameWanted
    let wantsChannels = false

    // onRenderVideoFrameEx:forUid:inChannel: isn't called, because isMultipleChannelFrameWanted is false.

    private func describe(_ videoFrame: borrowing VideoFrame) throws -> String {
        "\(videoFrame.width)×\(videoFrame.height) \(videoFrame.format.gstreamerName), "
            + "first red \(try videoFrame.plane(.packed).row(0)[0])"
    }
}

/// Inverts the brightness.
private final class Inverter: VideoProcessor, Sendable {
    static let formats = [VideoFormat.rgba]

    func process(_ frame: inout VideoFrame) throws -> Verdict {
        let width = frame.width
        var pixels = try frame.mutablePlane(.packed)
        for y in 0..<pixels.height {
            var row = pixels.row(y)
            for x in 0..<width * 4 where x % 4 != 3 { row[x] = 255 - row[x] }
        }
        return .pass
    }
}

extension Sample {
    static let agoraFrameObserver = Sample(
        name: "agora-frame-observer", summary: "AgoraVideoDataFrameProtocol at its three positions, editing RGBA"
    ) { frames in
        let (lines, delivered) = (Lines(), Lines())
        let gray = "videotestsrc is-live=true pattern=solid-color foreground-color=0xff646464 ! "
        // Held sideways.
        let camera =
            gray
            + "video/x-raw,format=RGBA,width=320,height=180,framerate=30/1 ! taginject tags=image-orientation=rotate-90"
        let observer = MyVideoFrameObserver(lines)
        let call = try await Call(
            alice: {
                $0.camera = camera
                $0.preProcessor = Inverter()
                $0.frameEditor = observer
            },
            bob: { $0.camera = camera })
        // What the observer has written and passed on is what the other user gets.
        let delegate = PixelReader(lines: delivered)
        try call.user.videoPipe.subscribe(delegate, resolution: .native, format: .rgba)
        // The observer drops each frame of the other user, so nothing of this comes.
        let dropped = PixelReader(lines: lines)
        try call.alice.user("bob").videoPipe.subscribe(dropped, resolution: .native, format: .rgba)
        let positions = ["captured", "sent", "received"]
        for position in positions { try await lines.wait(for: frames, position) }
        try await delivered.wait(for: frames, "delivered")
        await call.leave()
        return withExtendedLifetime((delegate, dropped)) {
            positions.flatMap { lines.about($0).prefix(frames) } + delivered.about("delivered").prefix(frames)
                + lines.about("delivered")
        }
    }
}

private final class PixelReader: RawDataDelegate {
    private let lines: Lines

    init(lines: Lines) { self.lines = lines }

    func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        let plane = try frame.plane(.packed)
        var corner = 0
        for y in 0..<frame.height {
            let row = plane.row(y)
            for x in 0..<frame.width where row[4 * x] == 55 { corner += 1 }
        }
        lines.add("delivered: \(frame.width)×\(frame.height), \(corner) pixels of the corner")
    }
}
