import MediaGraph

// Ported from Agora's AgoraVideoDataFrameProtocol: an observer with all required methods.
//
// Faults of the original: YES and NO are both documented as "if the video frame processing fails", so it is unclear
// which of them keeps a frame. A frame in RGBA can't be written back. Frames before the encoder are documented as not
// pre-processed, which is true of captured frames only. The format, rotation and mirror are queried for each frame.
// onRenderVideoFrame and onRenderVideoFrameEx are both required, although only one of them is ever called. Here a
// verdict is `.pass` or `.drop`; edits are passed on in every format; the preference is queried once, and again when
// the observer says that it has changed; and a position that isn't observed has no element.

private struct MyVideoFrameObserver: FrameEditor {
    /// getObservedFramePosition
    static let observedFramePositions: [FramePosition] = [.postCapture, .preEncoder, .preRenderer]

    let position: FramePosition
    let uid: UInt32
    let lines: Lines
    private var rendered = 0

    init(_ position: FramePosition, uid: UInt32 = 0, _ lines: Lines) {
        self.position = position
        self.uid = uid
        self.lines = lines
    }

    /// getVideoFormatPreference, getRotationApplied, getMirrorApplied
    var preference: FramePreference { FramePreference(format: .rgba, appliesRotation: true, appliesMirror: false) }

    mutating func edit(_ videoFrame: inout VideoFrame) throws -> Verdict {
        switch position {
        case .postCapture: try captureVideoFrame(&videoFrame)
        case .preEncoder: try preEncodeVideoFrame(&videoFrame)
        case .preRenderer: try renderVideoFrame(&videoFrame, forUid: uid)
        }
    }

    /// Draws a light gray corner into a frame that hasn't been pre-processed yet. The edit is passed on.
    private func captureVideoFrame(_ videoFrame: inout VideoFrame) throws -> Verdict {
        lines.add("captured: \(try describe(videoFrame))")
        var pixels = try videoFrame.mutablePlane(.packed)
        for y in 0..<16 {
            var row = pixels.row(y)
            for x in 0..<16 * 4 where x % 4 != 3 { row[x] = 200 }
        }
        return .pass
    }

    /// Called with the pre-processed frame that will be sent.
    private func preEncodeVideoFrame(_ videoFrame: inout VideoFrame) throws -> Verdict {
        lines.add("sent: \(try describe(videoFrame))")
        return .pass
    }

    /// Drops every second frame of the remote user.
    private mutating func renderVideoFrame(_ videoFrame: inout VideoFrame, forUid uid: UInt32) throws -> Verdict {
        lines.add("received: user \(uid), \(try describe(videoFrame))")
        rendered += 1
        return rendered % 2 == 1 ? .pass : .drop
    }

    private func describe(_ videoFrame: borrowing VideoFrame) throws -> String {
        "\(videoFrame.sizeAndFormat), first red \(try videoFrame.plane(.packed).row(0)[0])"
    }
}

extension Sample {
    static let agoraFrameObserver = Sample(
        name: "agora-frame-observer", summary: "AgoraVideoDataFrameProtocol at its three positions, editing RGBA"
    ) { frames in
        func observer(_ position: FramePosition) -> String {
            guard MyVideoFrameObserver.observedFramePositions.contains(position) else { return "" }
            return "frameobserver name=\(position.nick) position=\(position.nick) mode=read-write !"
        }
        let graph = try Graph(
            """
            videosource name=camera pace=fast ! \(observer(.postCapture)) preprocessor handler=invert !
            \(observer(.preEncoder)) rawdatapipe name=encoder
            videosource name=user pace=fast ! \(observer(.preRenderer)) rawdatapipe name=renderer
            """)
        for source in ["camera", "user"] { try graph.videoSource(source).attach(Camera(frames: frames)) }
        let lines = Lines()
        for position in MyVideoFrameObserver.observedFramePositions {
            try graph.frameObserver(position.nick).attach(MyVideoFrameObserver(position, uid: 42, lines))
        }
        for name in ["encoder", "renderer"] {
            try graph.rawDataPipe(name).receive { frame in
                lines.add("\(name): \(frame.sizeAndFormat), first luma \(try frame.plane(.y).row(0)[0])")
            }
        }
        try await graph.run()
        return ["captured", "sent", "encoder", "received", "renderer"].flatMap { lines.about($0) }
    }
}
