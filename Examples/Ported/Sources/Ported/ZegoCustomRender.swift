import MediaGraph

// Ported from ZEGO Express's "Custom Video Rendering": enableCustomVideoRender, setCustomVideoRenderHandler and the
// handler's callbacks.
//
// Faults of the original: the example's two onCapturedVideoFrame… methods lack the parameter `channel:`, so they don't
// implement the protocol. As all methods of the protocol are optional, the compiler doesn't complain, and no captured
// frame ever arrives. The example also implements the raw callbacks, although its configuration only ever calls those
// for CVPixelBuffer. An unsupported buffer type causes neither a callback nor an error. Here, if a pipe's delegate
// lacks the method for the pipe's `buffer-type`, the graph ends with an error that names the method. Each pipe has its
// own configuration.

private final class ViewController: RawDataDelegate {
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    /// onCapturedVideoFrameRawData and onRemoteVideoFrameRawData. The pipe tells them apart, and the frame has its
    /// `streamID`.
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
        // CVPixelBufferLockBaseAddress and CVPixelBufferGetBaseAddress.
        let blue = try buffer.withVideoFrame { try $0.plane(.packed).row(0)[0] }
        lines.add(
            "\(pipe.name): pixel buffer video frame callback. format: \(info.formatName), "
                + "width: \(info.width), height: \(info.height), flip: \(buffer.flip), first blue: \(blue)")
    }
}

extension Sample {
    static let zegoCustomRender = Sample(
        name: "zego-custom-render",
        summary: "ZegoCustomVideoRenderHandler of a preview (raw data) and a played stream (pixel buffers)"
    ) { frames in
        // `format=rgb` is frameFormatSeries, `engine-render` is enableEngineRender, and `view` and `screen` are the
        // SDK's canvases.
        let graph = try Graph(
            """
            videosource name=camera pace=fast ! rawdatapipe name=preview format=rgb engine-render=true !
            rawdatapipe name=view
            videosource name=stream pace=fast !
            rawdatapipe name=playing buffer-type=native format=rgb engine-render=true ! rawdatapipe name=screen
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
