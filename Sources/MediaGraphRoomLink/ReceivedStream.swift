import GStreamer
import MediaGraphCore

/// Checks the data of a stream from another process before readers get it.
///
/// A peer may be a faulty program. The checks ensure that its data can't freeze, end or overload a reader's graph:
/// formats must be known to GStreamer, latencies and timestamps must be plausible for a call, and buffers must be as
/// long as their format requires. A pure value; `RoomPeer` owns one for each stream.
struct ReceivedStream: Sendable {
    /// The longest latency that is accepted, in nanoseconds. All sinks of a reader's graph delay each frame by the
    /// latency.
    static let longestLatency: UInt64 = 15_000_000_000
    /// How far in the future a timestamp may be, in nanoseconds. Some is normal: encoders reorder frames, and sources
    /// send a little early.
    static let furthestAhead: UInt64 = 5_000_000_000
    /// The longest duration of a buffer, in nanoseconds.
    static let longestDuration: UInt64 = 60_000_000_000
    /// The accepted sample rates, in Hz.
    static let sampleRates = 1000...768_000
    /// The latest capture time, in nanoseconds since 1970: the year 2116.
    static let latestCapture: UInt64 = 1 << 62

    private enum Content: Sendable {
        case video(VideoInfo)
        case audio(AudioInfo)
        /// Encoded media, or raw media for which GStreamer has no table of formats.
        case other
    }

    private var content: Content?
    /// Why nothing of the stream is shown, until its format or latency changes.
    private var formatProblem: String?
    private var latencyProblem: String?
    /// Whether an invalid buffer has been reported; only the first one is, for each format.
    private var hasReportedInvalidBuffer = false

    /// Sets the stream's caps. Returns why the stream can't be shown with them; `nil` if it can.
    mutating func setCaps(_ caps: Caps) -> String? {
        (formatProblem, hasReportedInvalidBuffer) = (nil, false)
        switch caps.mediaTypes.first {
        case "video/x-raw":
            guard let info = VideoInfo(caps) else {
                return refuseFormat("this version of GStreamer doesn't know its format: \(caps)")
            }
            content = .video(info)
        case "audio/x-raw":
            guard let info = AudioInfo(caps) else {
                return refuseFormat("this version of GStreamer doesn't know its format: \(caps)")
            }
            guard Self.sampleRates.contains(info.rate) else {
                return refuseFormat("its sample rate of \(info.rate) Hz is outside 1000 to 768000 Hz")
            }
            guard info.isInterleaved || info.channels == 1 else {
                return refuseFormat("its channels aren't interleaved, as they must be between processes")
            }
            content = .audio(info)
        default: content = .other
        }
        return nil
    }

    private mutating func refuseFormat(_ problem: String) -> String {
        (content, formatProblem) = (nil, problem)
        return problem
    }

    /// Sets the stream's latency, in nanoseconds. Returns why the stream can't be shown with it; `nil` if it can.
    mutating func setLatency(_ latency: UInt64) -> String? {
        latencyProblem =
            latency <= Self.longestLatency
            ? nil
            : "its latency of \(Self.seconds(latency)) exceeds the limit of \(Self.seconds(Self.longestLatency))"
        return latencyProblem
    }

    /// The result of checking a buffer.
    enum Verdict: Sendable, Equatable {
        /// The buffer can be shown.
        case passes
        /// The buffer is dropped, for a reason that has already been reported.
        case refused
        /// The buffer is dropped, for this reason.
        case invalid(String)
    }

    /// Checks a buffer. `now` is the time, in nanoseconds, of the clock of the peers' timestamps.
    mutating func check(_ buffer: SharedBuffer, now: UInt64) -> Verdict {
        guard formatProblem == nil, latencyProblem == nil, let content else { return .refused }
        let verdict = check(buffer, content, now: now)
        guard case .invalid = verdict else { return verdict }
        defer { hasReportedInvalidBuffer = true }
        return hasReportedInvalidBuffer ? .refused : verdict
    }

    private func check(_ buffer: SharedBuffer, _ content: Content, now: UInt64) -> Verdict {
        let moment = max(buffer.moment ?? 0, buffer.decodingMoment ?? 0)
        if moment > now, moment - now > Self.furthestAhead {
            return .invalid("a timestamp is \(Self.seconds(moment - now)) ahead of the clock")
        }
        if let duration = buffer.duration, duration > Self.longestDuration { return .invalid(Self.tooLong(duration)) }
        if let captureTime = buffer.captureTime, captureTime > Self.latestCapture {
            return .invalid("a frame's capture time is after the year 2116")
        }
        return check(buffer, content)
    }

    private func check(_ buffer: SharedBuffer, _ content: Content) -> Verdict {
        switch content {
        case .video(let info):
            guard let layout = buffer.layout else {
                return buffer.length >= info.size
                    ? .passes : .invalid("a frame has \(buffer.length) bytes, but its format needs \(info.size)")
            }
            return layout.describes(info)
                ? .passes : .invalid("a frame's format or size differs from the stream's caps")
        case .audio(let info):
            guard buffer.layout == nil else { return .invalid("a block of sound carries the layout of raw video") }
            let (frames, rest) = buffer.length.quotientAndRemainder(dividingBy: max(1, info.bytesPerFrame))
            guard rest == 0 else { return .invalid("a block ends in the middle of a sample") }
            let duration = info.durationNanoseconds(ofFrames: frames)
            return duration <= Self.longestDuration ? .passes : .invalid(Self.tooLong(duration))
        case .other:
            return buffer.layout == nil ? .passes : .invalid("an encoded frame carries the layout of raw video")
        }
    }

    private static func tooLong(_ duration: UInt64) -> String {
        "a buffer's duration of \(seconds(duration)) exceeds the limit of \(seconds(longestDuration))"
    }

    private static func seconds(_ nanoseconds: UInt64) -> String {
        "\(nanoseconds / 1_000_000_000) s"
    }
}
