import MediaGraph

// Ported from the Zoom Video SDK: MyPreProcessor of "Pre-process raw video data" (Swift and Objective-C), and
// onPreProcessRawData of "Raw data".
//
// Faults of the original: the method returns nothing and can't throw, so it can neither drop a frame nor report a
// failure. The frame's format, its planes' strides, and the time for which it is valid are unknown. Here the type
// declares its formats; the method returns a verdict and gets planes with their rows; and the compiler ensures that the
// frame isn't used after the call.

private struct MyPreProcessor: VideoProcessor {
    static let formats: [VideoFormat] = [.i420]

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
        let graph = try Graph("videosource name=camera pace=fast ! preprocessor name=filter ! rawdatapipe name=sent")
        try graph.videoSource("camera").attach(Camera(frames: frames))
        // Assign the pre-processor. The node retains it, and accepts another one at any time.
        let preProcessor = MyPreProcessor()
        try graph.preprocessor("filter").attach(preProcessor)
        let lines = Lines()
        try graph.rawDataPipe("sent").receive { frame in
            let row = try frame.plane(.y).row(0)
            lines.add("\(frame.sizeAndFormat), watermark \(row[0]), next to it \(row[16])")
        }
        try await graph.run()
        return lines.all
    }
}
