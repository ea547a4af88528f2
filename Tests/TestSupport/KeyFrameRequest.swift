import CGStreamer
import GStreamer

extension Pad {
    /// Requests a key frame at a running time, from a sink pad. Returns false if no element upstream handles the
    /// request.
    public func requestKeyFrame(at time: ClockTime) -> Bool {
        gst_pad_push_event(
            UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstPad.self),
            gst_video_event_new_upstream_force_key_unit(GstClockTime(time.nanoseconds), 1, 0)) != 0
    }
}
