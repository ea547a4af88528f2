import GStreamer
import MediaGraphTesting

extension Harness {
    /// Pushes I420 frames of two sizes, a gap, a flush, a segment and the end of the stream. Every element with a sink
    /// pad must handle them.
    public func pushStreamWithEveryEvent() {
        setSourceCaps("video/x-raw,format=I420,width=16,height=4,framerate=30/1")
        push([UInt8](repeating: 0, count: 96))
        setSourceCaps("video/x-raw,format=I420,width=32,height=4,framerate=30/1")
        push([UInt8](repeating: 0, count: 192))
        push(.gap(.milliseconds(66), .milliseconds(33)))
        push(.flushStart)
        push(.flushStop)
        push(.segment)
        push(.endOfStream)
    }
}
