import Foundation
import GStreamer
import MediaGraph
import MediaGraphTesting
import Testing

/// All audio that a speaker delivers in one run of a graph, and how it is timed.
struct Heard {
    private(set) var samples: [SpeakerStream: [Int16]] = [:]
    private(set) var starts: [SpeakerStream: ClockTime] = [:]
    /// Blocks that begin more than 30 µs from where the one before ended.
    private(set) var jumps: [String] = []
    private(set) var formats: Set<String> = []

    init(_ description: String, speaker: String = "s") async throws {
        try await self.init(Graph(description), speaker: speaker)
    }

    init(_ graph: Graph, speaker: String = "s") async throws {
        let audio = try graph.virtualSpeaker(speaker).audio
        try await graph.start()
        for try await block in audio { try add(block) }
        await graph.stop()
    }

    private var next: [SpeakerStream: ClockTime] = [:]

    private mutating func add(_ block: SpeakerAudio) throws {
        let frame = block.frame
        let time = try #require(frame.runningTime)
        if starts[block.stream] == nil { starts[block.stream] = time }
        let expected = next[block.stream] ?? time
        if abs(Int64(expected.nanoseconds) - Int64(time.nanoseconds)) > 30_000 {
            jumps.append("\(block.stream): \(expected) expected, \(time) came")
        }
        next[block.stream] = time + frame.duration
        formats.insert("\(frame.sampleRate) \(frame.channelCount)")
        samples[block.stream, default: []] += try frame.samples()
    }

    var mixed: [Int16] { samples[.mixed] ?? [] }
    var shared: [Int16] { samples[.shared] ?? [] }
    var users: Set<String> { Set(samples.keys.compactMap(\.user?.name)) }

    func user(_ name: String) -> [Int16] { samples.first { $0.key.user?.name == name }?.value ?? [] }

    /// Returns the sum of the one-way streams, each from its start, clipped once.
    func expectedMix(count: Int, rate: Int = 48_000) -> [Int16] {
        var sums = [Int](repeating: 0, count: count)
        for (stream, values) in samples where stream.user != nil {
            let start = Int((starts[stream]!.seconds * Double(rate)).rounded())
            for (index, value) in values.enumerated() where start + index < count { sums[start + index] += Int(value) }
        }
        return sums.map { Int16(clamping: $0) }
    }
}

extension TemporaryFolder {
    /// Writes 16-bit mono samples to a file, and returns the description of a source that reads them block by block.
    func source(_ name: String, _ samples: [Int16], rate: Int = 48_000, block: Int = 480) throws -> String {
        let path = try write(name, samples.withUnsafeBytes { Array($0) })
        return
            "filesrc location=\(path) blocksize=\(block * 2) ! rawaudioparse use-sink-caps=false format=pcm pcm-format=s16le sample-rate=\(rate) num-channels=1"
    }
}

/// Total harmonic distortion and noise: the distance of the samples from the best-fitting sine of this frequency, in
/// decibels relative to the sine.
func distortion(_ samples: ArraySlice<Int16>, frequency: Double, rate: Double) -> Double {
    let values = samples.map(Double.init)
    let step = 2 * Double.pi * frequency / rate
    // Least squares of a·sin + b·cos + c, by the normal equations.
    var matrix = [[Double]](repeating: [Double](repeating: 0, count: 4), count: 3)
    for (index, value) in values.enumerated() {
        let basis = [sin(step * Double(index)), cos(step * Double(index)), 1]
        for row in 0..<3 {
            for column in 0..<3 { matrix[row][column] += basis[row] * basis[column] }
            matrix[row][3] += basis[row] * value
        }
    }
    for pivot in 0..<3 {
        let scale = matrix[pivot][pivot]
        for column in pivot..<4 { matrix[pivot][column] /= scale }
        for row in 0..<3 where row != pivot {
            let factor = matrix[row][pivot]
            for column in pivot..<4 { matrix[row][column] -= factor * matrix[pivot][column] }
        }
    }
    let (a, b, c) = (matrix[0][3], matrix[1][3], matrix[2][3])
    var (signal, noise) = (0.0, 0.0)
    for (index, value) in values.enumerated() {
        let sine = a * sin(step * Double(index)) + b * cos(step * Double(index))
        signal += sine * sine
        noise += (value - sine - c) * (value - sine - c)
    }
    return 10 * log10(noise / signal)
}
