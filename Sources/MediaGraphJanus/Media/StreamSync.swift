import MediaGraphSession
import Synchronization

/// Keeps the streams of a feed in step: what was sent at the same time is shown at the same time. So a picture, which takes
/// longer to encode, doesn't lag behind the sound.
final class StreamSync: Sendable {
    private struct Stream: Sendable {
        /// How much later media arrive than they were sent, in nanoseconds of two machines' clocks.
        var delay: Int64
        var time: UInt64
        var shift: UInt64 = 0
        /// Since when another shift has been needed.
        var isOutOfStepSince: UInt64?
    }

    private let streams = Mutex<[StreamKind: Stream]>([:])

    /// The largest difference that is corrected, in nanoseconds. If it is larger, the stream isn't delayed: the delay would disturb
    /// a conversation more than the difference does, and the sender's times may be wrong.
    static let longestShift: UInt64 = 500_000_000
    /// How much a stream's shift may be wrong, and for how long before it is changed, in nanoseconds. Each change is audible, and
    /// delays vary while a stream begins. Two streams may be out of step by twice as much.
    static let tolerance: UInt64 = 10_000_000
    static let patience: UInt64 = 1_000_000_000
    /// How long the others wait for a stream from which nothing comes, in nanoseconds.
    static let timeLimit: UInt64 = 2_000_000_000

    /// Records a stream's delay at a time in nanoseconds. Returns how much later than it arrives the stream is to be shown, in
    /// nanoseconds.
    func shift(_ kind: StreamKind, delay: Int64, at time: UInt64) -> UInt64 {
        streams.withLock { streams in
            var stream = streams[kind] ?? Stream(delay: delay, time: time)
            (stream.delay, stream.time) = (delay, time)
            let others = streams.filter { $0.key != kind && $0.value.time &+ Self.timeLimit > time }
            let slowest = max(delay, others.values.map(\.delay).max() ?? delay)
            let needed = UInt64(bitPattern: slowest &- delay)
            let wanted = needed <= Self.longestShift ? needed : 0
            if max(wanted, stream.shift) - min(wanted, stream.shift) <= Self.tolerance {
                stream.isOutOfStepSince = nil
            } else if time >= (stream.isOutOfStepSince ?? time) &+ Self.patience {
                (stream.shift, stream.isOutOfStepSince) = (wanted, nil)
            } else {
                stream.isOutOfStepSince = stream.isOutOfStepSince ?? time
            }
            streams[kind] = stream
            return stream.shift
        }
    }
}
