import MediaGraph

// Ported from the Zoom Video SDK: MyPreProcessor of "Pre-process raw video data" (Swift and Objective-C), and
// onPreProcessRawData of "Raw data".
//
// Changes besides names: the frame is `inout`, and the method returns whether it is passed on.
//
// Faults of the original: the method can neither drop a frame nor report a failure. The planes' strides, and the time
// for which the frame is valid, are unknown. Here a plane has rows, and the frame can't be used after the call.

private final class MyPreProcessor: VideoProcessor, Sendable {
    func process(_ rawData: inout VideoFrame) throws -> Verdict {
        // Modify rawData here before the frame is sent: a white watermark in the corner.
        var luma = try rawData.mutablePlane(.y)
        for y in 0..<16 {
            var row = luma.row(y)
            for x in 0..<16 { row[x] = 255 }
        }
        return .pass
    }
}

extension Sample {
    static let zoomPreProcessor = Sample(
        name: "zoom-pre-processor", summary: "ZoomVideoSDKVideoSourcePreProcessor that puts a watermark on frames"
    ) { frames in
        let call = try await Call(alice: { sessionContext in
            // The SDK's own camera. Its frames reach the pre-processor as I420, whatever it delivers.
            sessionContext.camera =
                "videotestsrc is-live=true pattern=black ! video/x-raw,format=RGBx,width=320,height=180"
            // Assign the pre-processor to the session context before joining.
            let preProcessor = MyPreProcessor()
            sessionContext.preProcessor = preProcessor
        })
        var lines: [String] = []
        for try await frame in try call.user.videoPipe.frames(resolution: .p720).prefix(frames) {
            let luma = try frame.packedBytes()
            lines.append("\(frame.width)×\(frame.height), watermark \(luma[0]), next to it \(luma[16])")
        }
        await call.leave()
        return lines
    }
}
