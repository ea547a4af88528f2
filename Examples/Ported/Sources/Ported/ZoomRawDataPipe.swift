import Dispatch
import MediaGraph

// Ported from the Zoom Video SDK's "Receive raw video data": the ZoomVideoSDKRawDataPipeDelegate, subscribing it,
// reading a frame, and retaining one past the callback (Swift and Objective-C). onPixelBuffer has a sample of its own,
// as the documents advise.
//
// Faults of the original: every frame is retained for an unbounded queue, so slow work keeps more and more of the SDK's
// buffers until canAddRef returns NO, and then frames are lost silently. In Objective-C, an exception in processFrame:
// leaks a reference. Between canAddRef and addRef, another thread may take the last buffer. Unsubscribing leaves work
// on the queue. Here two frames may wait, and then the pipe's `backpressure` decides; retaining is one call that
// succeeds or throws; Swift releases frames; and the end waits for the queued work.

private final class MyRawDataPipeDelegate: RawDataDelegate {
    private let lines: Lines
    private let backgroundQueue = DispatchQueue(label: "background")
    private let room = DispatchSemaphore(value: 2)

    init(_ lines: Lines) { self.lines = lines }

    // Used to receive video's YUV420 data.
    func received(_ rawData: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        room.wait()
        let kept: OwnedVideoFrame
        do { kept = try rawData.retain() } catch {
            room.signal()
            lines.add("can't keep a frame: \(error)")
            return
        }
        backgroundQueue.async { [self] in
            defer { room.signal() }
            do { try processFrame(kept) } catch { lines.add("can't read a frame: \(error)") }
        }
    }

    // Called when the sender stops or starts sending raw data.
    func statusChanged(isOn: Bool, of pipe: PipeIdentity) {
        backgroundQueue.async { [lines] in lines.add(isOn ? "on" : "off") }
    }

    private func processFrame(_ rawData: OwnedVideoFrame) throws {
        try rawData.withFrame { rawData in
            let yBuffer = try rawData.plane(.y)
            let uBuffer = try rawData.plane(.u)
            let vBuffer = try rawData.plane(.v)
            let format =
                switch rawData.colorRange {
                case .full: "I420"
                case .limited: "I420_Limit"
                default: "I420 of unknown range"
                }
            let rotation =
                switch rawData.rotation {
                case .none: "upright"
                case .clockwise90: "90 degrees"
                case .clockwise180: "180 degrees"
                case .clockwise270: "270 degrees"
                }
            let timeStamp = rawData.captureTime == nil ? "unknown" : "known"
            lines.add(
                "\(rawData.width)×\(rawData.height) \(format), \(rotation), time \(timeStamp), "
                    + "first y \(yBuffer.row(0)[0]), u \(uBuffer.row(0)[0]), v \(vBuffer.row(0)[0])")
        }
    }

    /// Waits until all retained frames have been released.
    func finish() async {
        await withCheckedContinuation { continuation in backgroundQueue.async { continuation.resume() } }
    }
}

extension Sample {
    static let zoomRawDataPipe = Sample(
        name: "zoom-raw-data-pipe",
        summary: "ZoomVideoSDKRawDataPipeDelegate that retains frames for its own queue"
    ) { frames in
        let graph = try Graph("videosource name=user pace=fast ! rawdatapipe name=video")
        try graph.videoSource("user").attach(Camera(frames: frames))
        let pipe = try graph.rawDataPipe("video")
        let lines = Lines()
        let delegate = MyRawDataPipeDelegate(lines)
        // Throws if the subscription is refused. The SDK's resolution "auto" doesn't exist here.
        try pipe.subscribe(delegate, resolution: .p720)
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        // When this call returns, no callback is running.
        try await pipe.unsubscribe(delegate)
        await delegate.finish()
        await graph.stop()
        return lines.all
    }
}
