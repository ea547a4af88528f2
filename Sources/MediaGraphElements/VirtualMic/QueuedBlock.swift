import CMediaGraphABI
import GStreamer
import MediaGraphCore

typealias AudioGate = SendGate<QueuedBlock>

/// A block of sound on its way from its sender to the streaming thread.
struct QueuedBlock: SentPayload {
    typealias Outgoing = MGOutgoingAudio
    typealias Format = SentAudioFormat
    typealias Timeline = BlockTimeline
    typealias Marks = Void

    /// Which blocks a node accepts.
    struct Rules: Sendable {
        var allowsStereo = false
        var maximumDuration = Duration.seconds(1)
    }

    static let actionName = "sending audio"
    static var log: DebugCategory { VirtualMicElement.log }
    static let initialRules = Rules()
    static var isClocked: Bool { true }
    static var isBoundByTime: Bool { true }

    private let buffer: UnmanagedBuffer
    private let retained: Unmanaged<SentAudioFormat>
    /// The block's duration in nanoseconds.
    let weight: Int
    /// Whether the timestamp is the sender's; otherwise it is the time of arrival.
    let isGiven: Bool

    init(_ buffer: consuming Buffer, _ format: consuming SentAudioFormat, isGiven: Bool) {
        weight = Int(format.info.durationNanoseconds(ofFrames: buffer.access.size / format.info.bytesPerFrame))
        self.buffer = UnmanagedBuffer(buffer)
        retained = .passRetained(format)
        self.isGiven = isGiven
    }

    /// The buffer. Valid until `take`.
    var access: BufferAccess { buffer.access }
    var timestamp: ClockTime? { access.presentationTimestamp }
    var byteCount: Int { access.size }
    var format: SentAudioFormat { retained.takeUnretainedValue() }

    func has(_ format: SentAudioFormat?) -> Bool {
        guard let format else { return false }
        return retained.toOpaque() == Unmanaged.passUnretained(format).toOpaque()
    }

    func take() -> Buffer {
        retained.release()
        return buffer.take()
    }
}

/// Stamps a block with its sender's timestamp or its time of arrival. The streaming thread decides the final timestamp,
/// when the blocks before it have gone out.
struct BlockTimeline: SendTimeline {
    func stamp(_ block: QueuedBlock, _ time: SendTime, _ pace: Pace) -> Bool {
        stampBeyondRate(block, time)
        return true
    }

    func stampBeyondRate(_ block: QueuedBlock, _ time: SendTime) { block.access.presentationTimestamp = time.clockTime }
}

/// The format of sent blocks.
final class SentAudioFormat: SentFormatDescription {
    typealias Payload = QueuedBlock

    let info: AudioInfo
    private let maximumLength: Int64

    /// Throws an error that says what was expected if a block can't have this format.
    init(_ audio: MGOutgoingAudio, _ rules: QueuedBlock.Rules) throws(MediaGraphError) {
        let rates = AudioSender.sampleRates
        guard rates.contains(Int(audio.rate)) else {
            throw .invalidParameter(
                .init(
                    "sample rate", expected: "one of \(rates.map(String.init).joined(separator: ", "))",
                    actual: "\(audio.rate)"))
        }
        guard (1...2).contains(audio.channels) else {
            throw .invalidParameter(.init("channels", expected: "1 or 2", actual: "\(audio.channels)"))
        }
        guard audio.channels == 1 || rules.allowsStereo else {
            throw .unsupported(
                .init(
                    "channels",
                    expected: "1 (to send 2, set stereo=true on the node, or sendsStereo in the SessionContext)",
                    actual: "2"))
        }
        guard let info = AudioInfo(.s16, rate: Int(audio.rate), channels: Int(audio.channels)) else {
            throw .invalidParameter(
                .init("sample rate", expected: "a rate that GStreamer supports", actual: "\(audio.rate)"))
        }
        self.info = info
        maximumLength = Int64(info.frames(in: rules.maximumDuration) * info.bytesPerFrame)
        let length = Self.length(of: audio)
        guard length != 0, audio.data != nil || audio.buffer != nil else {
            throw .invalidParameter(.init(QueuedBlock.actionName, actual: "the block is empty"))
        }
        guard length > 0, length % Int64(info.bytesPerFrame) == 0 else {
            throw .invalidParameter(
                .init(
                    "dataLength", expected: "a multiple of \(info.bytesPerFrame) bytes: 16 bits for each channel",
                    actual: "\(length)"))
        }
        guard Self.isTime(audio.timestamp) else {
            throw .invalidParameter(
                .init("timestamp", expected: "nanoseconds of running time", actual: "\(audio.timestamp)"))
        }
        guard length <= maximumLength else {
            throw .tooMuchAtOnce(
                .init(
                    QueuedBlock.actionName,
                    expected: "at most \(rules.maximumDuration.seconds) s at once (max-duration)",
                    actual: "\(info.duration(ofFrames: Int(length) / info.bytesPerFrame).seconds) s"))
        }
    }

    private static func length(of audio: MGOutgoingAudio) -> Int64 {
        audio.buffer.map { Int64(BufferAccess($0).size) } ?? audio.length
    }

    /// Returns whether the timestamp is `GST_CLOCK_TIME_NONE`, or small enough (less than 146 years) for sums and
    /// differences not to overflow.
    private static func isTime(_ timestamp: UInt64) -> Bool { timestamp == .max || timestamp < .max / 4 }

    func accepts(_ audio: UnsafePointer<MGOutgoingAudio>) -> Bool {
        let length = Self.length(of: audio.pointee)
        return audio.pointee.rate == info.rate && audio.pointee.channels == info.channels && length > 0
            && length % Int64(info.bytesPerFrame) == 0 && length <= maximumLength
            && (audio.pointee.data != nil || audio.pointee.buffer != nil) && Self.isTime(audio.pointee.timestamp)
    }

    var rateLimit: String { "" }

    /// Makes a payload from the sender's buffer, from a buffer around the sender's memory, or from a copy of the sound.
    consuming func payload(_ audio: UnsafePointer<MGOutgoingAudio>, _ marks: Void) throws(MediaGraphError)
        -> QueuedBlock
    {
        var buffer: Buffer?
        if let own = audio.pointee.buffer {
            buffer = Buffer(taking: own).writable()
        } else {
            let memory = UnsafeMutableRawBufferPointer(
                start: UnsafeMutableRawPointer(mutating: audio.pointee.data), count: Int(audio.pointee.length))
            if let release = audio.pointee.release {
                buffer = Buffer(wrapping: memory, context: audio.pointee.release_context, release: release)
            } else {
                buffer = Buffer(copying: UnsafeRawBufferPointer(memory))
            }
        }
        guard let made = buffer.take() else {
            throw .allocationFailed(.init("block of audio", actual: "out of memory (\(audio.pointee.length) bytes)"))
        }
        return QueuedBlock(made, self, isGiven: audio.pointee.timestamp != .max)
    }
}

extension MGOutgoingAudio: OutgoingMedia {}
