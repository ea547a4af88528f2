import GStreamer
import MediaGraph
import TestSupport

/// Returns a graph whose user sends frames to a room, and the source that sends them.
func publisherGraph(_ user: String, room: String) throws -> (Graph, RecordingSource) {
    let graph = try Graph("videosource name=camera ! call.camera  mediasession name=call room=\(room) user=\(user)")
    let source = RecordingSource()
    try graph.videoSource("camera").attach(source)
    return (graph, source)
}

extension RecordingSource {
    /// Sends a frame of 16×16 pixels with the graph's current time.
    func sendFrame() throws { try sender.sendPattern(width: 16, height: 16) }
}

/// Logs a stream's status changes and frames, and passes each frame to `body`.
struct StreamRecorder: VideoConsumer {
    let log: Log<String>
    var body: @Sendable (borrowing VideoFrame) -> Void = { _ in }
    func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
    func receive(_ frame: borrowing VideoFrame) {
        log.add("frame")
        body(frame)
    }
}
