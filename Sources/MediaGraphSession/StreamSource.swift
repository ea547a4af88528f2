import GStreamer
import MediaGraphCore

/// A live source element that outputs a stream in a transport's pipeline, with timestamps of that pipeline, scaled down to
/// the resolution that the elements behind it ask for.
package struct StreamSource: Sendable {
    package let element: Element
    /// Add it to a `RoomStream` while the stream is to be read.
    package let reader: StreamReader

    /// Makes the element; `nil` if GStreamer can't. `name` names the transport in warnings.
    package init?(_ key: StreamKey, for name: String, clock: TimerClock) {
        guard let (element, reader) = SessionReceiver.make(.of(key), session: name, clock: clock) else { return nil }
        (self.element, self.reader) = (element, reader)
    }
}
