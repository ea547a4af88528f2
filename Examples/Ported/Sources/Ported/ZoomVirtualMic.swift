import Foundation
import MediaGraph
import Synchronization

// Ported from the Zoom Video SDK's "Send raw audio data": MyVirtualMic.swift and MyVirtualMic.m, and VirtualMicExample
// of "Raw data".
//
// Changes besides names: the properties are behind a `Mutex` or `Atomic`. Sending throws, and in a task it may suspend.
//
// Faults of the original: the result of sending a chunk is ignored. The loops never sleep, so their rate is undefined.
// Here `send` waits until the node has room, so the node sets the pace. VirtualMicExample sends 0 bytes at 0 Hz, which
// is an error here.

final class MyVirtualMic: VirtualMic {
    private let sender = Mutex<AudioSender?>(nil)
    private let pumpTask = Mutex<Task<Void, Never>?>(nil)
    private let device = SoundDevice()

    func micInitialize(sender rawDataSender: AudioSender) {
        // Store the sender; the SDK isn't ready for audio yet.
        sender.withLock { $0 = rawDataSender }
    }

    func micStartSend() {
        // The SDK is ready for audio. Begin pumping on a background task.
        let task = Task(priority: .userInitiated) {
            while !Task.isCancelled {
                let chunk = device.nextAudioChunk()  // mono 16-bit PCM bytes from your source
                try? await sender.withLock { $0 }?.send(
                    chunk.buffer, dataLength: chunk.length, sampleRate: chunk.sampleRate)
            }
        }
        pumpTask.withLock { $0 = task }
    }

    func micStopSend() {
        pumpTask.withLock { pumpTask in
            pumpTask?.cancel()
            pumpTask = nil
        }
    }

    func micUninitialize() { sender.withLock { $0 = nil } }
}

private final class MyThreadedVirtualMic: VirtualMic {
    private let sender = Mutex<AudioSender?>(nil)
    private let running = Atomic(false)
    private let device = SoundDevice()

    func micInitialize(sender rawDataSender: AudioSender) {
        // Store the sender; the SDK isn't ready for audio yet.
        sender.withLock { $0 = rawDataSender }
    }

    func micStartSend() {
        // The SDK is ready for audio. Begin pumping on a background queue.
        running.store(true, ordering: .relaxed)
        DispatchQueue.global(qos: .userInitiated).async { [self] in
            while running.load(ordering: .relaxed) {
                let chunk = device.nextAudioChunk()  // mono 16-bit PCM bytes from your source
                try? sender.withLock { $0 }?.send(
                    chunk.buffer, dataLength: chunk.length, sampleRate: chunk.sampleRate)
            }
        }
    }

    func micStopSend() { running.store(false, ordering: .relaxed) }

    func micUninitialize() { sender.withLock { $0 = nil } }
}

private final class VirtualMicExample: VirtualMic {
    private let audioSender = Mutex<AudioSender?>(nil)
    private let lines: Lines

    init(_ lines: Lines) { self.lines = lines }

    func micInitialize(sender rawDataSender: AudioSender) {
        // Virtual microphone has initialized, store rawDataSender to send raw audio data into the session later.
        audioSender.withLock { $0 = rawDataSender }
    }

    func micStartSend() {
        guard let audioSender = audioSender.withLock({ $0 }) else { return }
        // Virtual microphone can begin sending raw audio into the session. Provide your audio data info here.
        let yourAudioBuffer = [Int8](repeating: 0, count: 320)
        for (yourAudioDataLength, yourAudioSampleRate) in [(0, 0), (320, 16000)] {
            do {
                try audioSender.send(
                    yourAudioBuffer, dataLength: yourAudioDataLength, sampleRate: yourAudioSampleRate)
                lines.add("Call to send raw audio succeeded")
            } catch {
                lines.add("Call to send raw audio produced an error: \(error)")
            }
        }
    }

    func micStopSend() {
        // Virtual microphone has stopped sending raw audio.
    }

    func micUninitialize() {
        // Virtual microphone has been destroyed.
        audioSender.withLock { $0 = nil }
    }
}

/// The application's microphone, which the documents' samples call: 20 ms of sound at a time, in which each sample is the
/// chunk's number.
private final class SoundDevice: Sendable {
    struct AudioChunk {
        let sampleRate = 16000
        let buffer: [UInt8]
        var length: Int { buffer.count }
    }
    private let count = Atomic<Int>(0)

    func nextAudioChunk() -> AudioChunk {
        let number = UInt16(truncatingIfNeeded: count.wrappingAdd(1, ordering: .relaxed).oldValue % 30000 + 1)
        let samples = [UInt16](repeating: number.littleEndian, count: 320)
        return AudioChunk(buffer: samples.withUnsafeBytes { Array($0) })
    }
}

/// Counts how often each sample value comes, in order.
private final class ChunkCounter: VirtualSpeaker, Sendable {
    let runs = Mutex<[(value: Int16, count: Int)]>([])

    func oneWayAudioReceived(_ rawData: borrowing AudioFrame, user: SpeakerUser) {
        let samples = rawData.samples
        runs.withLock { runs in
            for index in samples.indices {
                if runs.last?.value == samples[index] {
                    runs[runs.count - 1].count += 1
                } else {
                    runs.append((samples[index], 1))
                }
            }
        }
    }
}

extension Sample {
    static let zoomVirtualMic = virtualMic("zoom-virtual-mic", "that sends from a task") { MyVirtualMic() }
    static let zoomVirtualMicThread = virtualMic("zoom-virtual-mic-thread", "that sends from a thread") {
        MyThreadedVirtualMic()
    }

    private static func virtualMic(
        _ name: String, _ text: String, _ make: @escaping @Sendable () -> any VirtualMic
    ) -> Sample {
        Sample(name: name, summary: "ZoomVideoSDKVirtualAudioMic \(text)") { frames in
            let counter = ChunkCounter()
            let call = try await Call(
                alice: { sessionContext in
                    // Assign your microphone to the session context before joining.
                    let virtualMic = make()
                    sessionContext.virtualAudioMic = virtualMic
                },
                bob: {
                    $0.virtualAudioSpeaker = counter
                    $0.speakerFormat = SpeakerFormat(sampleRate: 16000)
                })
            // The last chunk isn't complete.
            while counter.runs.withLock({ $0.filter { $0.value > 0 }.count }) < frames + 2 {
                try await Task.sleep(for: .milliseconds(5))
            }
            await call.leave()
            let chunks = counter.runs.withLock { $0 }.filter { $0.value > 0 }.dropFirst().prefix(frames)
            return chunks.map { "chunk \($0.value): \($0.count) samples" }
        }
    }

    static let zoomVirtualMicExample = Sample(
        name: "zoom-virtual-mic-example", summary: "VirtualMicExample, and what its call to send returns"
    ) { _ in
        let lines = Lines()
        let call = try await Call(alice: { $0.virtualAudioMic = VirtualMicExample(lines) })
        try await lines.wait(for: 2)
        await call.leave()
        return lines.all
    }
}
