import CMediaGraphABI
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraphCore
@testable import MediaGraphElements

/// Collects a speaker's samples and status changes, in order.
final class Notes: Sendable {
    let log = Log<String>()
    private let blocks = BlockingMonitor<[SpeakerStream: [Int16]]>([:])

    func add(_ stream: SpeakerStream, _ samples: [Int16]) {
        blocks.withLock { $0[stream, default: []] += samples }
    }

    func samples(_ stream: SpeakerStream) -> [Int16] { blocks.withLock { $0[stream] ?? [] } }
    func samples(user: String) -> [Int16] { samples(.oneWay(SpeakerUser(name: user))) }
    var mixed: [Int16] { samples(.mixed) }
}

/// Adds everything that a speaker delivers to its notes.
struct NoteTaker: VirtualSpeaker {
    let notes: Notes

    func note(_ frame: borrowing AudioFrame, _ stream: SpeakerStream) {
        notes.add(stream, frame.samples.withUnsafeBufferPointer(Array.init))
    }

    func mixedAudioReceived(_ frame: borrowing AudioFrame) { note(frame, .mixed) }
    func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) { note(frame, .oneWay(user)) }
    func sharedAudioReceived(_ frame: borrowing AudioFrame) { note(frame, .shared) }
    func statusChanged(isOn: Bool, of stream: SpeakerStream) {
        notes.log.add("\(stream.user?.name ?? stream.kind) \(isOn ? "on" : "off")")
    }
    func finish() { notes.log.add("finish") }
}

/// A speaker with a harness for each user, on a clock that only the test advances.
final class SpeakerRoom {
    let speaker: Element
    let notes = Notes()
    let clock = TestClock()
    private var users: [String: Harness] = [:]

    /// - Parameter latency: how long the mix waits for late samples, such as those that a resampler keeps for its next
    ///   block.
    init(live: Bool = true, first: String = "anna", latency: Duration = .zero) throws {
        speaker = try #require(Element(factory: "virtualspeaker"))
        try speaker.setProperty("min-upstream-latency", parsing: "\(latency.nanoseconds)")
        try speaker.setProperty("max-frames", to: Int32(100_000))
        // The harnesses use the element's clock.
        speaker.setClock(clock.clock)
        try NodeVTable.attach(MGAudioConsumer(NoteTaker(notes: notes), name: "notes"), to: speaker)
        join(first, live: live)
    }

    /// Adds a user, by the pad `user_<name>` unless another is given.
    func join(_ name: String, live: Bool = true, id: String? = nil, pad: String? = nil, rate: Int = 48_000) {
        let harness = Harness(speaker, sink: pad ?? "user_\(name)", source: nil)
        harness.setLive(live)
        users[name] = harness
        if let id { harness.push(.streamStart(id)) }
        harness.setSourceCaps("audio/x-raw,format=S16LE,rate=\(rate),channels=1,layout=interleaved")
    }

    /// Pushes a block of ten milliseconds of a user's voice.
    @discardableResult
    func say(_ name: String, _ samples: ArraySlice<Int16>, block: Int) -> FlowReturn {
        let buffer = Buffer(Array(samples).withUnsafeBytes { Array($0) })
        buffer.access.presentationTimestamp = .milliseconds(UInt64(block * 10))
        buffer.access.duration = .milliseconds(10)
        return users[name]!.push(buffer)
    }

    /// Says that a user's stream is on or off, as a sender does.
    func turn(_ name: String, on: Bool) { push(name, .custom(StreamStatus.event(on: on))) }

    func leave(_ name: String) { users[name] = nil }
    func push(_ name: String, _ event: Harness.Event) { users[name]!.push(event) }
}
