import MediaGraph

// Ported from the Zoom Video SDK's "Receive raw video data": onPixelBuffer of the ZoomVideoSDKRawDataPipeDelegate
// (Swift and Objective-C).
//
// Changes besides names: a session delivers raw frames or native buffers, and native ones in their own size only.
//
// Faults of the original: the same delegate implements onRawDataFrameReceived too. The documents themselves advise
// against this, because every frame is then made twice. In Swift, the buffer is an implicitly unwrapped optional.

private final class MyPixelBufferDelegate: RawDataDelegate {
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    // Used to receive video's NV12 data, in its original memory.
    func received(_ pixelBuffer: borrowing NativeVideoFrame, from pipe: PipeIdentity) throws {
        // Access the pixel buffer.
        let luma = try pixelBuffer.withVideoFrame { try $0.plane(.y).row(0)[0] }
        // Get rotation of raw data video stream.
        let rotation =
            switch pixelBuffer.rotation {
            case .clockwise90: "90 degrees"
            default: "not 90 degrees"
            }
        lines.add(
            "\(pixelBuffer.width)×\(pixelBuffer.height) \(pixelBuffer.format?.gstreamerName ?? "?") in "
                + "\(pixelBuffer.memoryTypes.joined(separator: ", ")), \(rotation), luma \(luma)")
    }
}

extension Sample {
    static let zoomPixelBuffer = Sample(
        name: "zoom-pixel-buffer", summary: "ZoomVideoSDKRawDataPipeDelegate that gets buffers in their original memory"
    ) { frames in
        let lines = Lines()
        let call = try await Call(
            alice: { $0.externalVideoSource = Camera() },
            bob: {
                // The camera sends I420. The SDK's pixel buffers are NV12.
                $0.customVideoRender = CustomVideoRender(bufferType: .native, format: .nv12)
            })
        let delegate = MyPixelBufferDelegate(lines)
        try call.user.videoPipe.subscribe(delegate, resolution: .native)
        try await lines.wait(for: frames)
        await call.leave()
        // The pipe holds its delegates weakly.
        return withExtendedLifetime(delegate) { lines.all }
    }
}
