import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// A `virtualmic` in a harness with its source, and the audio that comes out of it.
final class MicHarness {
    /// A buffer that came out of the element.
    struct Piece: Equatable {
        var time: UInt64
        var duration: UInt64
        var samples: [Int16]
        var isGap: Bool
        var isDiscontinuous: Bool
    }

    let harness: Harness
    private let microphone: RecordingMic?

    init(
        _ settings: [String: String] = [:], sinkCaps: String? = nil, source: RecordingMic? = RecordingMic(),
        plays: Bool = true
    ) throws {
        try Nodes.register()
        let element = try #require(Element(factory: "virtualmic"))
        for (name, value) in settings { try element.setProperty(name, parsing: value) }
        if let source { try NodeVTable.attach(source, to: element) }
        microphone = source
        harness = Harness(element, sink: nil, source: "src")
        if let sinkCaps { harness.setSinkCaps(sinkCaps) }
        // GStreamer's harness starts each element that can have a sink pad.
        if plays { harness.play() } else { element.setState(.null) }
        if !plays { source?.calls.removeAll() }
    }

    /// The source that was passed to `init`; there is none if `handler` names one.
    var source: RecordingMic { microphone! }
    var sender: AudioSender { source.sender }
    var counts: NodeCounts { NodeCounts(harness.element)! }

    func pull() -> Piece? {
        guard let buffer = harness.pull() else { return nil }
        return Piece(
            time: buffer.access.presentationTimestamp?.nanoseconds ?? .max,
            duration: buffer.access.durationNanoseconds ?? .max,
            samples: buffer.access.samples, isGap: buffer.access.isGap,
            isDiscontinuous: buffer.access.isDiscontinuous)
    }

    /// Returns buffers until they contain `count` samples, or no more come.
    func pull(samples count: Int) -> [Piece] {
        var pieces: [Piece] = []
        var total = 0
        while total < count, let piece = pull() {
            pieces.append(piece)
            total += piece.samples.count
        }
        return pieces
    }

    /// Returns all buffers until the end of the stream, or a hundred thousand of a stream that doesn't end.
    func pullToEnd() -> [Piece] {
        var pieces: [Piece] = []
        var hasEnded = false
        while pieces.count < 100_000 {
            if harness.bufferCount > 0, let piece = pull() {
                pieces.append(piece)
                continue
            }
            if hasEnded { return pieces }
            // The end may arrive between the two checks, and is reported only once.
            let hasMore = waitUntil {
                if harness.pulledEvents().contains("eos") { hasEnded = true }
                return hasEnded || harness.bufferCount > 0
            }
            if !hasMore { return pieces }
        }
        return pieces
    }

    func error(_ body: () throws(MediaGraphError) -> Void) -> MediaGraphError? {
        do throws(MediaGraphError) {
            try body()
            return nil
        } catch { return error }
    }
}

extension [MicHarness.Piece] {
    var samples: [Int16] { flatMap(\.samples) }

    /// Returns whether each buffer begins where the one before ended, within a nanosecond of the time computed from the
    /// samples.
    func isContinuous(rate: Int) -> Bool {
        guard let first else { return true }
        var frames = 0
        for piece in self {
            let time = first.time + UInt64((Double(frames) * 1e9 / Double(rate)).rounded())
            guard piece.time.distance(to: time).magnitude <= 1 else { return false }
            frames += piece.samples.count
        }
        return true
    }
}
