import MediaGraph

// Zoom Video SDK, "Receive raw video data": onPixelBuffer of the ZoomVideoSDKRawDataPipeDelegate (Swift and Objective-C).
//
// What the original gets wrong: it stands beside onRawDataFrameReceived in the same delegate, which the documents themselves
// advise against, since every frame is then made twice; the Swift form unwraps the buffer unasked (`CVPixelBuffer!`). Here a
// pipe has one `buffer-type`, and a frame is always there.

private final class MyPixelBufferDelegate: RawDataDelegate {
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    // Used to receive video's NV12 data, in the memory that it came in.
    func received(_ pixelBuffer: borrowing NativeVideoFrame, from pipe: PipeIdentity) throws {
        guard let info = VideoInfo(pixelBuffer.caps) else {
            throw MediaGraphError.unsupported(.init(pipe.name, expected: "raw video", actual: "\(pixelBuffer.caps)"))
        }
        // Get rotation of raw data video stream.
        let rotation =
            switch pixelBuffer.rotation {
            case .clockwise90: "90 degrees"
            default: "not 90 degrees"
            }
        let frame = pixelBuffer.presentationTimestamp?.frameIndex(at: info.framesPerSecond) ?? -1
        lines.add(
            "\(info.width)×\(info.height) \(info.formatName) in \(pixelBuffer.memoryTypes.joined(separator: ", ")), "
                + "frame \(frame), \(rotation)")
    }
}

extension Sample {
    static let zoomPixelBuffer = Sample(
        name: "zoom-pixel-buffer", summary: "ZoomVideoSDKRawDataPipeDelegate that takes buffers as they come"
    ) { frames in
        let graph = try Graph("videosource name=user pace=fast ! rawdatapipe name=video buffer-type=native")
        try graph.videoSource("user").attach(Camera(frames: frames, format: FrameFormat(.nv12)))
        let lines = Lines()
        let delegate = MyPixelBufferDelegate(lines)
        // Such a pipe gives buffers in their own size: another resolution is refused.
        try graph.rawDataPipe("video").subscribe(delegate, resolution: .native)
        try await graph.run()
        // The pipe holds its delegates weakly.
        return withExtendedLifetime(delegate) { lines.all }
    }
}
