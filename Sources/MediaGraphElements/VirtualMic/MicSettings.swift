import GStreamer
import MediaGraphCore

/// The property `backpressure` of a microphone. No policy drops sound for lack of room, because dropped sound clicks.
enum MicBackPressure: Int32, PropertyEnum {
    case block, refuse

    static let typeName = "MediaGraphMicBackPressure"
    var nick: String { self == .block ? "block" : "refuse" }
    var blurb: String {
        self == .block ? "The sender waits for room" : "The block is refused as too frequent"
    }
}

/// The properties of `virtualmic`.
struct MicSettings: HandlerSettings {
    var handler = ""
    var options = ""
    var onError = FailurePolicy.stop
    var stereo = false
    /// The default was chosen by measuring the THD+N of a sine, converted to 48 kHz from 8 kHz and from 44.1 kHz.
    /// Quality 4 gives −82 and −86 dB. Quality 8 gives −93 and −88 dB, about as much as 16 bits can hold. Quality 10
    /// gives −90 and −90 dB for twice the work, and delays sound of 8 kHz by 16 ms; quality 8 delays it by 10 ms.
    var quality: Int32 = 8
    var pace = Pace.live
    var backPressure = MicBackPressure.block
    // All times are in nanoseconds.
    var bufferTime: UInt64 = 200_000_000
    var maxDuration: UInt64 = 1_000_000_000
    /// Longer than the longest block, so that a sender that never sleeps waits for its turn.
    var blockTimeout: UInt64 = 2_000_000_000
    var stopTimeout: UInt64 = 1_000_000_000
    /// A sender that jitters by ±30 ms can be 60 ms later than its first block was.
    var jitter: UInt64 = 60_000_000
    /// Users expect a microphone's sound to stay in sync, without audible corrections. Sound whose clock is the graph's
    /// isn't changed.
    var drift = DriftCorrection.resample

    var gate: AudioGate.Settings {
        var rules = QueuedBlock.Rules()
        rules.allowsStereo = stereo
        rules.maximumDuration = .nanoseconds(maxDuration)
        return AudioGate.Settings(
            pace: pace, policy: backPressure == .block ? .block : .refuse, bound: Int(clamping: bufferTime),
            blockTimeoutNanoseconds: blockTimeout, stopTimeout: .nanoseconds(stopTimeout),
            rules: rules)
    }

    var assembler: BlockAssembler {
        // Jitter alone doesn't put a sender this far ahead: the sender waits for room in the queue, or would have to.
        BlockAssembler(
            quality: Int(quality), drift: pace == .live ? drift : .none,
            aheadLimit: .nanoseconds(min(bufferTime, 100_000_000)))
    }
}

extension VirtualMicElement {
    static let properties: [PropertyDeclaration] =
        lockedHandlerProperties + [
            .setting(
                "on-error", of: VirtualMicElement.self, \.onError, changes: .untilInitialized,
                "What happens to a block of a device's sound whose handler throws"),
            .setting(
                "stereo", of: VirtualMicElement.self, \.stereo, changes: .untilInitialized,
                "Whether the node accepts and sends two channels"),
            .setting(
                "quality", of: VirtualMicElement.self, \.quality, range: .values(0...10),
                "Quality of the conversion between sample rates, as audioresample's: 0 fast, 10 best"),
            .setting(
                "pace", of: VirtualMicElement.self, \.pace, changes: .untilInitialized,
                "Whether sound is sent at the clock's pace or as fast as downstream takes it"),
            .setting(
                "backpressure", of: VirtualMicElement.self, \.backPressure, changes: .untilInitialized,
                "What happens when sound is sent faster than it goes out"),
            .setting(
                "buffer-time", of: VirtualMicElement.self, \.bufferTime, range: .values(1_000_000...60_000_000_000),
                changes: .untilInitialized,
                "Nanoseconds of sound in the queue before a sender must wait, not counting sound held back by the graph's latency"
            ),
            .setting(
                "max-duration", of: VirtualMicElement.self, \.maxDuration, range: .values(1_000_000...60_000_000_000),
                changes: .untilInitialized,
                "Maximum duration of a block, in nanoseconds"),
            .setting(
                "block-timeout", of: VirtualMicElement.self, \.blockTimeout, changes: .untilInitialized,
                "Nanoseconds that a sender waits for room in the queue when backpressure is block, before its block is refused"
            ),
            .setting(
                "stop-timeout", of: VirtualMicElement.self, \.stopTimeout, changes: .untilInitialized,
                "Nanoseconds that the node waits for an asynchronous source's task to end when the source is stopped"),
            .setting(
                "jitter", of: VirtualMicElement.self, \.jitter, range: .values(0...10_000_000_000),
                "Nanoseconds that a block may be late before silence replaces it; also how long the first blocks without timestamps are held. Adds to the latency"
            ),
            .setting(
                "drift", of: VirtualMicElement.self, \.drift, changes: .untilInitialized,
                "How to correct live sound whose clock drifts from the graph's"),
            NodeStatistics.property(of: VirtualMicElement.self) { $0.gate.statistics },
        ]
}
