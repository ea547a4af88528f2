import GStreamer
import MediaGraphCore

/// The `backpressure` of a microphone: sound that is dropped clicks, so none is for want of room.
enum MicBackPressure: Int32, PropertyEnum {
    case block, refuse

    static let typeName = "MediaGraphMicBackPressure"
    var nick: String { self == .block ? "block" : "refuse" }
    var blurb: String {
        self == .block ? "The sender waits for room" : "The block is refused, as too frequent"
    }
}

/// What a `virtualmic`'s properties say.
struct MicSettings: HandlerSettings {
    var handler = ""
    var options = ""
    var stereo = false
    /// Measured at 48 kHz out, THD+N of a sine from 8 and from 44.1 kHz: 4 gives −82 and −86 dB, 8 −93 and −88, which is
    /// about what 16 bits hold; 10 gives −90 and −90 for twice the work, and holds 8 kHz back by 16 ms where 8 does by 10.
    var quality: Int32 = 8
    var pace = Pace.live
    var backPressure = MicBackPressure.block
    var bufferTime: UInt64 = 200_000_000
    var maxDuration: UInt64 = 1_000_000_000
    /// Longer than a block may be, so that a pump that never sleeps waits for its turn.
    var blockTimeout: UInt64 = 2_000_000_000
    var stopTimeout: UInt64 = 1_000_000_000
    /// A pump that jitters by ±30 ms can be 60 ms later than its first block was.
    var jitter: UInt64 = 60_000_000
    /// What is expected of a microphone is a sound that stays in step, and that nobody hears what that takes; a sound whose
    /// clock is the graph's is left as it is.
    var drift = DriftCorrection.resample

    var gate: AudioGate.Settings {
        var rules = QueuedBlock.Rules()
        rules.allowsStereo = stereo
        rules.maximumDuration = ClockTime(nanoseconds: maxDuration)
        return AudioGate.Settings(
            pace: pace, policy: backPressure == .block ? .block : .refuse, bound: Int(clamping: bufferTime),
            blockTimeout: ClockTime(nanoseconds: blockTimeout), stopTimeout: ClockTime(nanoseconds: stopTimeout),
            rules: rules)
    }

    var assembler: BlockAssembler {
        // Further ahead than jitter is only who waits for room, or would.
        BlockAssembler(
            quality: Int(quality), drift: pace == .live ? drift : .none,
            aheadLimit: ClockTime(nanoseconds: min(bufferTime, 100_000_000)))
    }
}

extension VirtualMicElement {
    static let properties: [PropertyDeclaration] = [
        .setting(
            "handler", of: VirtualMicElement.self, \.handler, changes: .untilInitialized, NodeDefinition.handlerBlurb),
        .setting(
            "options", of: VirtualMicElement.self, \.options, changes: .untilInitialized, NodeDefinition.optionsBlurb),
        .setting(
            "stereo", of: VirtualMicElement.self, \.stereo, changes: .untilInitialized,
            "Whether two channels may be sent, and go out"),
        .setting(
            "quality", of: VirtualMicElement.self, \.quality, range: .values(0...10),
            "Quality of the conversion between sample rates, as audioresample's: 0 fast, 10 best"),
        .setting(
            "pace", of: VirtualMicElement.self, \.pace, changes: .untilInitialized,
            "Whether sound goes out at the clock's pace or as fast as it is taken"),
        .setting(
            "backpressure", of: VirtualMicElement.self, \.backPressure, changes: .untilInitialized,
            "What happens when sound is sent faster than it goes out"),
        .setting(
            "buffer-time", of: VirtualMicElement.self, \.bufferTime, range: .values(1_000_000...60_000_000_000),
            changes: .untilInitialized,
            "Nanoseconds of sound that the source queues before a sender must wait, not counting sound held back by the graph's latency"
        ),
        .setting(
            "max-duration", of: VirtualMicElement.self, \.maxDuration, range: .values(1_000_000...60_000_000_000),
            changes: .untilInitialized,
            "Nanoseconds of sound that may be sent at once"),
        .setting(
            "block-timeout", of: VirtualMicElement.self, \.blockTimeout, changes: .untilInitialized,
            "Nanoseconds that a sender waits for room where backpressure blocks; then its block is refused"),
        .setting(
            "stop-timeout", of: VirtualMicElement.self, \.stopTimeout, changes: .untilInitialized,
            "Nanoseconds that a source which is a task may take to end when it is stopped"),
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
