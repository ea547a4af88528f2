import MediaGraphSession
import Synchronization

/// Keeps the streams of a feed in step: what was sent at the same time is shown at the same time. So a picture, which takes
/// longer to encode, doesn't lag behind the sound.
final class StreamSync: Sendable {
    /// How much later each stream's media arrive than they were sent, in nanoseconds of two machines' clocks.
    private let delays = Mutex<[StreamKind: Int64]>([:])

    /// The longest time to wait for another stream, in nanoseconds. A longer one would hurt more than it helps, and the sender's
    /// times may be wrong.
    static let longestShift: UInt64 = 500_000_000

    /// Records a stream's delay. Returns how much later than that it is to be shown, in nanoseconds.
    func shift(_ kind: StreamKind, delay: Int64) -> UInt64 {
        delays.withLock { delays in
            delays[kind] = delay
            let shift = UInt64(bitPattern: (delays.values.max() ?? delay) &- delay)
            return shift <= Self.longestShift ? shift : 0
        }
    }

    /// Forgets a stream that is off.
    func remove(_ kind: StreamKind) { delays.withLock { $0[kind] = nil } }
}
