import GStreamer

/// Data that came to nothing while the graph ran on.
public enum StreamLoss: Sendable, Hashable, CustomStringConvertible {
    /// A picture decoder received data that holds no picture.
    case undecodablePictures(decoder: String, count: UInt64, of: UInt64)
    /// A device or server delivered nothing but digital silence.
    case silence(source: String)
    /// An input ended before the duration that it declares: a file that was cut, say. With the path or URI, where it has one.
    case truncatedInput(_ place: String?, end: ClockTime, duration: ClockTime)

    public var description: String {
        switch self {
        case .undecodablePictures(let decoder, let count, let total):
            "\(decoder) could not decode \(count) of \(total) pictures"
        case .silence(let source):
            "\(source) was silent throughout; is it the right device, and not muted? `mediagraph devices` lists them"
        case .truncatedInput(let place, let end, let duration):
            "\(place ?? "the input") ends at \(Self.text(end)) s, but declares a duration of \(Self.text(duration)) s; "
                + "it may be truncated"
        }
    }

    private static func text(_ time: ClockTime) -> String {
        let hundredths = Int((time.seconds * 100).rounded())
        let decimals = String(100 + hundredths % 100).dropFirst()
        return "\(hundredths / 100).\(decimals)"
    }
}

extension Graph {
    /// What has come to nothing so far. Ask when the graph has ended, before it is stopped.
    public var streamLosses: [StreamLoss] {
        let losses = streamWatch.losses(of: pipeline) { owner(of: $0).name }
        // Who asks for a part, or for the end, asks for less than the input has.
        let isWhole = !mediaRange.isLimited && state.withLock { $0.hasEndedByItself }
        return isWhole ? losses + streamWatch.truncations(of: pipeline) : losses
    }
}
