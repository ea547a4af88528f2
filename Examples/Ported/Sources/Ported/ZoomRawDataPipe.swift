import Dispatch
import MediaGraph

// Ported from the Zoom Video SDK's "Receive raw video data": the ZoomVideoSDKRawDataPipeDelegate, subscribing it,
// reading a frame, and retaining one past the callback (Swift and Objective-C). onPixelBuffer has a sample of its own,
// as the documents advise.
//
// Changes besides names: a format is a pixel format and a range; planes have rows, and reading them throws if the format has
// no such plane; the status is a Boolean; retaining returns an owned frame, which Swift releases; subscribing throws;
// unsubscribing waits.
//
// Faults of the original: every frame is retained for an unbounded queue, so slow work keeps more and more of the SDK's
// buffers until canAddRef returns NO, and then frames are lost silently. Between canAddRef and addRef, another thread
// may take the last buffer. Unsubscribing leaves work on the queue.

private final class MyRawDataPipeDelegate: RawDataDelegate {
    private let lines: Lines
    private let backgroundQueue = DispatchQueue(label: "background")

    init(_ lines: Lines) { self.lines = lines }

    // Used to receive video's YUV420 data.
    func received(_ rawData: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        guard rawData.canRetain else { return }
        let rawData = try rawData.retain()
        backgroundQueue.async { [self] in
            do { try processFrame(rawData) } catch { lines.add("can't read a frame: \(error)") }
        }
    }

    // Called when the raw data has been toggled.
    func statusChanged(isOn: Bool, of pipe: PipeIdentity) {
        switch isOn {
        // User's raw data is now on.
        case true: lines.add("on")
        // User's raw data is now off.
        case false: lines.add("off")
        }
    }

    private func processFrame(_ rawData: OwnedVideoFrame) throws {
        try rawData.withFrame { rawData in
            // Access the raw data for each of the 3 components.
            let yBuffer = try rawData.plane(.y)
            let uBuffer = try rawData.plane(.u)
            let vBuffer = try rawData.plane(.v)
            let timeStamp = rawData.captureTime == nil ? "unknown" : "known"
            // Get format of raw data.
            let format =
                switch FrameFormat(rawData.format, range: rawData.colorRange) {
                case .i420: "I420"
                case .i420Limited: "I420_Limit"
                default: "another format"
                }
            // Get rotation of raw data video stream.
            let rotation =
                switch rawData.rotation {
                case .none: "upright"
                case .clockwise90: "90 degrees"
                case .clockwise180: "180 degrees"
                case .clockwise270: "270 degrees"
                }
            lines.add(
                "frame: \(rawData.width)×\(rawData.height) \(format), \(rotation), time \(timeStamp), "
                    + "y \(yBuffer.row(0)[0]), u \(uBuffer.row(0)[0]), v \(vBuffer.row(0)[0])")
        }
    }
}

extension Sample {
    static let zoomRawDataPipe = Sample(
        name: "zoom-raw-data-pipe",
        summary: "ZoomVideoSDKRawDataPipeDelegate that retains frames for its own queue"
    ) { frames in
        let lines = Lines()
        let call = try await Call(alice: { $0.externalVideoSource = Camera() })
        let user = try call.user
        let delegate = MyRawDataPipeDelegate(lines)
        let pipe = user.videoPipe
        do {
            try pipe.subscribe(delegate, resolution: .p720)
        } catch {
            // Subscription was rejected.
            lines.add("\(error)")
        }
        try await lines.wait(for: frames, "frame")
        // The user's leaving turns the raw data off.
        await call.alice.leave()
        try await lines.wait(for: 1, "off")
        try await pipe.unsubscribe(delegate)
        await call.leave()
        return lines.all
    }
}
