import GStreamer
import MediaGraphCore

/// A live source element that outputs a stream in a transport's pipeline, with timestamps of that pipeline, scaled down to
/// the resolution that the elements behind it ask for.
package struct StreamSource: Sendable {
    package let element: Element
    /// Add it to a `RoomStream` while the stream is to be read.
    package let reader: StreamReader

    /// Makes the element; `nil` if GStreamer can't.
    ///
    /// - Parameters:
    ///   - key: The stream.
    ///   - name: The transport's name, for warnings.
    ///   - clock: The clock by which the stream stalls.
    ///   - formatRefused: Called on the streaming thread with caps that the elements behind this one don't accept. If it returns
    ///     false, the element posts a warning.
    package init?(
        _ key: StreamKey, for name: String, clock: TimerClock, formatRefused: @escaping @Sendable (Caps) -> Bool
    ) {
        guard
            let (element, reader) = SessionReceiver.make(
                .of(key), session: name, clock: clock, formatRefused: formatRefused)
        else { return nil }
        (self.element, self.reader) = (element, reader)
    }
}
