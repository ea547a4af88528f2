import MediaGraph

// ZEGO Express, "Custom Video Rendering": enableCustomVideoRender, setCustomVideoRenderHandler and the handler's callbacks.
//
// What the original gets wrong: the example's two onCapturedVideoFrame… methods have no `channel:`, so they aren't the
// protocol's, and since the protocol's are all optional nothing says so: no captured frame ever comes. It implements the
// raw callbacks too, for a configuration that only ever calls those for CVPixelBuffer. A buffer type that isn't supported
// gives no callback and no error. Here a method that isn't the protocol's is none that anybody calls, and a pipe whose
// delegate lacks the one for its `buffer-type` ends the graph with an error that says which; each pipe has a configuration
// of its own.

private final class ViewController: RawDataDelegate {
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    /// onCapturedVideoFrameRawData and onRemoteVideoFrameRawData: the pipe says which (and the frame its `streamID`).
    func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        let data = try frame.plane(.packed)
        lines.add(
            "\(pipe.name): raw data video frame callback. format: \(frame.format.gstreamerName), "
                + "width: \(frame.width), height: \(frame.height), stride: \(data.stride), flip: \(frame.flip), "
                + "first blue: \(data.row(0)[0])")
    }

    /// onCapturedVideoFrameCVPixelBuffer and onRemoteVideoFrameCVPixelBuffer.
    func received(_ buffer: borrowing NativeVideoFrame, from pipe: PipeIdentity) throws {
        guard let info = VideoInfo(buffer.caps) else {
            throw MediaGraphError.unsupported(.init(pipe.name, expected: "raw video", actual: "\(buffer.caps)"))
        }
        let frame = buffer.presentationTimestamp?.frameIndex(at: info.framesPerSecond) ?? -1
        lines.add(
            "\(pipe.name): pixel buffer video frame callback. format: \(info.formatName), "
                + "width: \(info.width), height: \(info.height), flip: \(buffer.flip), frame: \(frame)")
    }
}

extension Sample {
    static let zegoCustomRender = Sample(
        name: "zego-custom-render",
        summary: "ZegoCustomVideoRenderHandler of a preview (raw data) and a played stream (pixel buffers)"
    ) { frames in
        // `format=rgb` is frameFormatSeries, `engine-render` enableEngineRender, and `view` and `screen` what the SDK renders to.
        let graph = try Graph(
            """
            videosource name=camera pace=fast ! rawdatapipe name=preview format=rgb engine-render=true !
            rawdatapipe name=view
            videosource name=stream pace=fast ! videoconvert ! video/x-raw,format=BGRA !
            rawdatapipe name=playing buffer-type=native engine-render=true ! rawdatapipe name=screen format=rgb
            """)
        for source in ["camera", "stream"] { try graph.videoSource(source).attach(Camera(frames: frames)) }
        let lines = Lines()
        let viewController = ViewController(lines)
        for pipe in ["preview", "playing"] {
            try graph.rawDataPipe(pipe).subscribe(viewController, resolution: .native)
        }
        for view in ["view", "screen"] {
            try graph.rawDataPipe(view).receive { frame in
                let plane = try frame.plane(frame.format.planes[0])
                lines.add("\(view): \(frame.sizeAndFormat), first byte \(plane.row(0)[0])")
            }
        }
        try await graph.run()
        // The pipes hold their delegates weakly.
        return withExtendedLifetime(viewController) {
            ["preview", "view", "playing", "screen"].flatMap { lines.about($0) }
        }
    }
}
