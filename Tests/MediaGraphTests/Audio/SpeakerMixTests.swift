import GStreamer
import MediaGraph
import MediaGraphTesting
import TestSupport
import Testing

/// What the mix is: the sum of what is handed over one by one.
@Suite struct SpeakerMixTests {
    @Test("SP-3 the mix is the sum of the one-way streams to the sample, clipped once at the end")
    func sum() async throws {
        let graph = try Graph(
            """
            virtualspeaker name=s
            audiotestsrc num-buffers=40 samplesperbuffer=480 volume=0.9 freq=440 ! audio/x-raw,rate=48000,channels=1 ! s.user_anna
            audiotestsrc num-buffers=33 samplesperbuffer=480 volume=0.8 wave=saw freq=331 ! audio/x-raw,rate=48000,channels=1 ! s.user_bob
            audiotestsrc num-buffers=50 samplesperbuffer=301 volume=0.7 wave=white-noise ! audio/x-raw,rate=48000,channels=1 ! s.user_cem
            """)
        let heard = try await Heard(graph)
        #expect(Set(heard.users) == ["anna", "bob", "cem"])
        let mixed = heard.samples[.mixed] ?? []
        #expect(mixed.count >= 40 * 480)
        #expect(mixed == heard.expectedMix(count: mixed.count))
        #expect(mixed.contains(.max) && mixed.contains(.min), "it never clipped, so nothing is shown")
    }
}

/// Everything that a speaker named "s" hands over in one run of a graph.
struct Heard {
    private(set) var samples: [SpeakerStream: [Int16]] = [:]
    private(set) var starts: [SpeakerStream: ClockTime] = [:]
    private(set) var problems: [String] = []

    init(_ graph: Graph, speaker: String = "s") async throws {
        let audio = try graph.virtualSpeaker(speaker).audio
        try await graph.start()
        var next: [SpeakerStream: ClockTime] = [:]
        for try await block in audio {
            let frame = block.frame
            let time = try #require(frame.runningTime)
            if starts[block.stream] == nil { starts[block.stream] = time }
            if let expected = next[block.stream] {
                let distance = abs(Int64(expected.nanoseconds) - Int64(time.nanoseconds))
                if distance > 30_000 { problems.append("\(block.stream): \(expected) expected, \(time) came") }
            }
            next[block.stream] = ClockTime(nanoseconds: time.nanoseconds + frame.duration.nanoseconds)
            samples[block.stream, default: []] += try frame.samples()
        }
        await graph.stop()
    }

    var users: [String] { samples.keys.compactMap(\.user?.name) }

    func user(_ name: String) -> [Int16] { samples.first { $0.key.user?.name == name }?.value ?? [] }

    /// The saturated sum of the one-way streams, which all begin at zero.
    func expectedMix(count: Int) -> [Int16] {
        var sums = [Int](repeating: 0, count: count)
        for (stream, values) in samples where stream.user != nil {
            for (index, value) in values.enumerated() where index < count { sums[index] += Int(value) }
        }
        return sums.map { Int16(clamping: $0) }
    }
}
