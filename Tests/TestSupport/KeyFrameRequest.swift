import CGStreamer
import GStreamer

extension Pad {
    /// Asks for a key frame at a running time, from a sink pad; false where nobody upstream says that it will come.
    public func requestKeyFrame(at time: ClockTime) -> Bool {
        gst_pad_push_event(
            UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstPad.self),
            gst_video_event_new_upstream_force_key_unit(GstClockTime(time.nanoseconds), 1, 0)) != 0
    }
}
