import MediaGraph

// Ported from the Zoom Video SDK's "Receive raw video data": onPixelBuffer of the ZoomVideoSDKRawDataPipeDelegate
// (Swift and Objective-C).
//
// Faults of the original: the same delegate implements onRawDataFrameReceived too. The documents themselves advise
// against this, because every frame is then made twice. In Swift, the buffer is an implicitly unwrapped optional
// (`CVPixelBuffer!`). Here a pipe has one `buffer-type`, and the frame isn't optional.

private final class MyPixelBufferDelegate: RawDataDelegate {
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    // Used to receive video's NV12 data, in its original memory.
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
        name: "zoom-pixel-buffer", summary: "ZoomVideoSDKRawDataPipeDelegate that gets buffers in their original memory"
    ) { frames in
        // The camera sends I420. The SDK's pixel buffers are NV12.
        let graph = try Graph("videosource name=user pace=fast ! rawdatapipe name=video buffer-type=native format=NV12")
        try graph.videoSource("user").attach(Camera(frames: frames))
        let lines = Lines()
        let delegate = MyPixelBufferDelegate(lines)
        // A pipe with buffer-type=native delivers buffers in their own size, and refuses any other resolution.
        try graph.rawDataPipe("video").subscribe(delegate, resolution: .native)
        try await graph.run()
        // The pipe holds its delegates weakly.
        return withExtendedLifetime(delegate) { lines.all }
    }
}
