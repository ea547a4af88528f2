import GStreamer
import MediaGraphCore

/// The properties of `frameobserver`.
struct FrameObserverSettings: HandlerSettings {
    var handler = ""
    var options = ""
    var position = FramePosition.postCapture
    var mode = ObserverMode.readOnly
    var onError = FailurePolicy.stop
}
