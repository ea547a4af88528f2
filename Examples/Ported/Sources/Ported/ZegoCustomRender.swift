import MediaGraph

// Ported from ZEGO Express's "Custom Video Rendering": enableCustomVideoRender, setCustomVideoRenderHandler, the
// handler's callbacks, and rendering of the preview and of a played stream.
//
// Changes besides names: the configuration is part of the session's context; a canvas is a description instead of a view, and
// so is enableEngineRender; the handler subscribes to the preview and to each user's pipe, and one method for each type
// of frame gets both; a stream is played when its user is there.
//
// Faults of the original: the example's two onCapturedVideoFrame… methods lack the parameter `channel:`, so they don't
// implement the protocol. As all methods of the protocol are optional, the compiler doesn't complain, and no captured
// frame ever arrives. The example also implements the raw callbacks, although its configuration only ever calls those
// for CVPixelBuffer.

private final class ViewController: SessionDelegate, RawDataDelegate {
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    // onCapturedVideoFrameRawData and onRemoteVideoFrameRawData.
    func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        lines.add(
            "\(name(pipe)): raw data video frame callback. format: \(frame.format.gstreamerName), width: \(frame.width), "
                + "height: \(frame.height), isNeedFlip: \(frame.flip)")
    }

    // onCapturedVideoFrameCVPixelBuffer and onRemoteVideoFrameCVPixelBuffer.
    func received(_ buffer: borrowing NativeVideoFrame, from pipe: PipeIdentity) throws {
        lines.add(
            "\(name(pipe)): pixel buffer video frame callback. format: \(buffer.format?.gstreamerName ?? "?"), "
                + "width: \(buffer.width), height: \(buffer.height), isNeedFlip: \(buffer.flip)")
    }

    private func name(_ pipe: PipeIdentity) -> String {
        switch pipe.kind {
        case .preview: "captured"
        default: "remote \(pipe.user ?? "?")"
        }
    }

    func session(_ session: Session, _ event: SessionEvent) {
        guard case .userJoined(let user) = event else { return }
        do {
            // Start playing the stream, with a canvas of its own. Callbacks for this stream come from now on.
            try user.videoPipe.setCanvas("rawdatapipe name=play_view")
            try user.videoPipe.subscribe(self, resolution: .native)
        } catch { lines.add("playing failed: \(error)") }
    }
}

/// Looks at the frames that a canvas shows.
private final class View: RawDataDelegate {
    let name: String
    private let lines: Lines

    init(_ name: String, _ lines: Lines) { (self.name, self.lines) = (name, lines) }

    func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) {
        lines.add("\(name): \(frame.width)×\(frame.height)")
    }
}

extension Sample {
    static let zegoCustomRender = Sample(
        name: "zego-custom-render",
        summary: "ZegoCustomVideoRenderHandler of a preview and of a played stream, with canvases"
    ) { frames in
        let lines = Lines()
        let viewController = ViewController(lines)

        var renderConfig = CustomVideoRender()
        // Select CVPixelBuffer type video frame data.
        renderConfig.bufferType = .native
        // Select RGB color series data format.
        renderConfig.format = .rgb
        // Specify that the engine also renders while custom video rendering is enabled.
        renderConfig.engineRender = "videoconvert ! rawdatapipe name=preview_view"

        let call = try await Call(
            alice: { $0.externalVideoSource = Camera() },
            bob: {
                $0.customVideoRender = renderConfig
                $0.externalVideoSource = Camera()
            },
            delegateOfBob: viewController)
        // Set self as the custom video rendering callback object.
        try call.bob.preview.subscribe(viewController, resolution: .native)

        let views = ["preview_view", "play_view"].map { View($0, lines) }
        for view in views {
            while (try? call.bob.graph.rawDataPipe(view.name)) == nil { try await Task.sleep(for: .milliseconds(5)) }
            try call.bob.graph.rawDataPipe(view.name).subscribe(view, resolution: .native)
        }
        let streams = ["captured", "remote alice", "preview_view", "play_view"]
        for stream in streams { try await lines.wait(for: frames, stream) }
        await call.leave()
        return withExtendedLifetime((viewController, views)) { streams.flatMap { lines.about($0).prefix(frames) } }
    }
}
