import CMediaGraphABI
import TestSupport
import Testing

@testable import GStreamer
@testable import MediaGraphCore
@testable import MediaGraphElements

@Suite struct AudioFrameTests {
    private struct NoMemory: Error {}

    init() { GStreamerRuntime.initialize() }

    /// Doubles each sample and keeps the block as it was before.
    private struct SampleDoubler: AudioProcessor {
        let keep: @Sendable (OwnedAudioFrame) -> Void

        mutating func process(_ frame: inout AudioFrame) throws -> Verdict {
            keep(try frame.retain())
            var samples = frame.mutableSamples
            for index in samples.indices { samples[index] *= 2 }
            return .pass
        }
    }

    private func buffer(_ samples: [Int16]) throws -> Buffer {
        guard let buffer = Buffer(size: samples.count * 2) else { throw NoMemory() }
        let info = try #require(AudioInfo(.s16, rate: 48_000, channels: 1))
        _ = buffer.access.withAudioBuffer(info, .readWrite) { mapped in
            var target = mapped.mutableSamples(as: Int16.self)
            for index in samples.indices { target[index] = samples[index] }
        }
        return buffer
    }

    @Test("SP-4 a processor edits samples in place, and a block that it keeps is an unedited copy")
    func edit() throws {
        let info = try #require(AudioInfo(.s16, rate: 48_000, channels: 2))
        let caps = info.caps
        let kept = Log<OwnedAudioFrame>()
        let handle = AudioProcessorHandle(MGAudioProcessor(SampleDoubler { kept.add($0) }, name: "double"))
        let buffer = try buffer([1, -2, 300, -400, 5, 6])
        buffer.access.presentationTimestamp = .milliseconds(20)
        let verdict = try buffer.access.withAudioBuffer(info, .readWrite) { mapped in
            var frame = MGAudioFrame(
                mapped, in: buffer.access, caps, times: AudioTimes(running: .milliseconds(30), stream: nil),
                streamStart: nil, isEdited: true)
            return try handle.process(&frame)
        }
        #expect(verdict == .pass)
        let samples = buffer.access.withAudioBuffer(info, .read) {
            $0.samples(as: Int16.self).withUnsafeBufferPointer(Array.init)
        }
        #expect(samples == [2, -4, 600, -800, 10, 12])
        let owned = try #require(kept.all.first)
        #expect(try owned.samples() == [1, -2, 300, -400, 5, 6])
        #expect(owned.channelCount == 2)
        #expect(owned.sampleRate == 48_000)
        #expect(owned.frameCount == 3)
        #expect(owned.byteLength == 12)
        #expect(owned.duration == .nanoseconds(62_500))
        #expect(owned.presentationTimestamp == .milliseconds(20))
        #expect(owned.runningTime == .milliseconds(30))
        #expect(!owned.isGap)
    }

    @Test("SP-4 an owned block is the stream's own buffer, and may be empty")
    func keeping() throws {
        let info = try #require(AudioInfo(.s16, rate: 8_000, channels: 1))
        let caps = info.caps
        let buffer = try buffer([7, 8])
        buffer.access.isGap = true
        func keep(_ buffer: borrowing Buffer) throws -> OwnedAudioFrame {
            let kept = try buffer.access.withAudioBuffer(info, .read) { mapped in
                try OwnedAudioFrame(
                    retaining: MGAudioFrame(
                        mapped, in: buffer.access, caps, times: AudioTimes(running: nil, stream: nil), streamStart: nil,
                        isEdited: false))
            }
            return try #require(kept)
        }
        let owned = try keep(buffer)
        #expect(owned.isGap)
        let ours = buffer.access.withBytes { UInt(bitPattern: $0.baseAddress) }
        let theirs = try owned.withFrame { $0.samples.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }
        #expect(ours == theirs)
        guard let empty = Buffer(size: 0) else { throw NoMemory() }
        #expect(try keep(empty).samples().isEmpty)
    }

    @Test("SP-4 samples that aren't 16 bits wide are refused")
    func format() throws {
        let info = try #require(AudioInfo(.f32, rate: 8_000, channels: 1))
        let caps = info.caps
        guard let buffer = Buffer(size: 8) else { throw NoMemory() }
        let handle = AudioProcessorHandle(MGAudioProcessor(SampleDoubler { _ in }, name: "double"))
        #expect(throws: MediaGraphError.unknownSampleFormat) {
            _ = try buffer.access.withAudioBuffer(info, .readWrite) { mapped in
                var frame = MGAudioFrame(
                    mapped, in: buffer.access, caps, times: AudioTimes(running: nil, stream: nil), streamStart: nil,
                    isEdited: true)
                return try handle.process(&frame)
            }
        }
    }
}
