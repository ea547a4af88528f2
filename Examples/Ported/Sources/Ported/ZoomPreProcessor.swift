import MediaGraph

// Zoom Video SDK, "Pre-process raw video data", MyPreProcessor (Swift and Objective-C), and onPreProcessRawData of "Raw data".
//
// What the original gets wrong: the call returns nothing and can't throw, so a frame can be neither dropped nor said to have
// failed; nothing tells its format, how far its planes' rows lie apart, or how long it may be touched. Here a frame has a
// verdict, the formats that come are declared, each plane knows its rows, and the compiler keeps the frame inside the call.

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
        // Assign the pre-processor; the node holds it, and takes another at any time.
        let preProcessor = MyPreProcessor()
        try graph.preprocessor("filter").attach(preProcessor)
        let lines = Lines()
        try graph.rawDataPipe("sent").receive { frame in
            let row = try frame.plane(.y).row(0)
            lines.add("\(frame.sizeAndFormat), watermark \(row[0]), beside it \(row[16])")
        }
        try await graph.run()
        return lines.all
    }
}
