import CMediaGraphABI
import GStreamer
import MediaGraphCore

typealias AudioGate = SendGate<QueuedBlock>

/// A block of sound between its sender and the streaming thread.
struct QueuedBlock: SentPayload {
    typealias Outgoing = MGOutgoingAudio
    typealias Format = SentAudioFormat
    typealias Timeline = BlockTimeline
    typealias Marks = Void

    /// What a node lets in.
    struct Rules: Sendable {
        var allowsStereo = false
        var maximumDuration = ClockTime.seconds(1)
    }

    static let act = "sending audio"
    static var log: DebugCategory { VirtualMicElement.log }
    static let anything = Rules()
    static var isClocked: Bool { true }
    static var isBoundByTime: Bool { true }

    private let buffer: UnmanagedBuffer
    private let retained: Unmanaged<SentAudioFormat>
    /// How long it sounds, in nanoseconds.
    let weight: Int
    /// Its timestamp is its sender's, rather than when it came.
    let isGiven: Bool

    init(_ buffer: consuming Buffer, _ format: consuming SentAudioFormat, isGiven: Bool) {
        weight = Int(format.info.duration(ofFrames: buffer.access.size / format.info.bytesPerFrame).nanoseconds)
        self.buffer = UnmanagedBuffer(buffer)
        retained = .passRetained(format)
        self.isGiven = isGiven
    }

    /// Valid until the block is taken.
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

/// Where a block belongs is known only when those before it have gone out: until then it says what its sender said, or when
/// it came.
struct BlockTimeline: SendTimeline {
    func stamp(_ block: QueuedBlock, _ time: SendTime, _ pace: Pace) -> Bool {
        force(block, time)
        return true
    }

    func force(_ block: QueuedBlock, _ time: SendTime) { block.access.presentationTimestamp = time.clockTime }
}

/// What sent blocks are, as long as it stays the same.
final class SentAudioFormat: SentFormatDescription {
    typealias Payload = QueuedBlock

    let info: AudioInfo
    private let maximumLength: Int64

    /// Refuses what a block can't be, with what was expected.
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
            throw .unsupported(.init("channels", expected: "1, or stereo=true on the node", actual: "2"))
        }
        guard let info = AudioInfo(.s16, rate: Int(audio.rate), channels: Int(audio.channels)) else {
            throw .invalidParameter(.init("sample rate", expected: "one that GStreamer takes", actual: "\(audio.rate)"))
        }
        self.info = info
        maximumLength = Int64(info.frames(in: rules.maximumDuration) * info.bytesPerFrame)
        let length = Self.length(of: audio)
        guard length > 0, length % Int64(info.bytesPerFrame) == 0, audio.data != nil || audio.buffer != nil else {
            throw .invalidParameter(
                .init(
                    "dataLength", expected: "a multiple of \(info.bytesPerFrame) bytes: 16 bits for each channel",
                    actual: audio.data == nil && audio.buffer == nil ? "no data" : "\(length)"))
        }
        guard Self.isTime(audio.timestamp) else {
            throw .invalidParameter(
                .init("timestamp", expected: "nanoseconds of running time", actual: "\(audio.timestamp)"))
        }
        guard length <= maximumLength else {
            throw .tooMuchAtOnce(
                .init(
                    QueuedBlock.act, expected: "at most \(rules.maximumDuration.seconds) s at once (max-duration)",
                    actual: "\(info.duration(ofFrames: Int(length) / info.bytesPerFrame).seconds) s"))
        }
    }

    private static func length(of audio: MGOutgoingAudio) -> Int64 {
        audio.buffer.map { Int64(BufferAccess($0).size) } ?? audio.length
    }

    /// A time of which sums and differences are times too: less than 146 years; or none.
    private static func isTime(_ timestamp: UInt64) -> Bool { timestamp == .max || timestamp < .max / 4 }

    func accepts(_ audio: UnsafePointer<MGOutgoingAudio>) -> Bool {
        let length = Self.length(of: audio.pointee)
        return audio.pointee.rate == info.rate && audio.pointee.channels == info.channels && length > 0
            && length % Int64(info.bytesPerFrame) == 0 && length <= maximumLength
            && (audio.pointee.data != nil || audio.pointee.buffer != nil) && Self.isTime(audio.pointee.timestamp)
    }

    var pace: String { "" }

    /// Around the buffer or the memory that was handed over, or a copy.
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
            throw .allocationFailed(.init("a block of audio", expected: "\(audio.pointee.length) bytes"))
        }
        return QueuedBlock(made, self, isGiven: audio.pointee.timestamp != .max)
    }
}

extension MGOutgoingAudio: OutgoingMedia {
    func giveBack() {
        release?(release_context)
        if let buffer { _ = Buffer(taking: buffer) }
    }
}
