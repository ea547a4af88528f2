import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// Receives a device's sound at a `virtualmic`'s `sink`. The node's processor edits the sound, and the gate then treats
/// it like sound that a microphone sends. If the node has a microphone of its own, the device's sound is dropped.
///
/// `@unchecked Sendable`: constants, state behind a lock, and state that only the pad's streaming thread uses.
final class DeviceInput: InputPadDelegate, @unchecked Sendable {
    /// How the input is used. Set before data flows.
    struct Role: Sendable {
        var processor: AudioProcessorHandle?
        /// What happens to a block whose processor throws.
        var onError = FailurePolicy.stop
        /// Whether the node has a microphone of its own, which replaces the device.
        var isReplaced = false
    }

    private let gate: AudioGate
    private let state = Mutex(Role())
    /// The node's property `stereo`. The pad's caps depend on it even before the node runs, when a description is
    /// linked.
    let allowsStereo = Atomic<Bool>(false)
    private let isInterrupted = Atomic<Bool>(false)
    // Only the pad's streaming thread uses these.
    private var info: AudioInfo?
    private var format: Caps?
    private var role = Role()
    private var failures = FailedFrames()

    init(_ gate: AudioGate) { self.gate = gate }

    /// Call it before data flows.
    func set(_ role: Role) {
        state.withLock { $0 = role }
        failures = FailedFrames()
    }

    /// Whether the device's sound is dropped.
    var isReplaced: Bool { state.withLock { $0.isReplaced } }

    override var caps: Caps { Caps(AudioSender.caps(stereo: allowsStereo.load(ordering: .relaxed)))! }

    override func formatChanged(_ caps: Caps) -> Bool {
        role = state.withLock { $0 }
        guard caps.isSubset(of: self.caps), let info = AudioInfo(caps) else { return false }
        self.info = info
        format = caps
        return true
    }

    override func received(_ buffer: consuming Buffer, at runningTime: ClockTime?) -> FlowReturn {
        guard let info, let format else { return .notNegotiated }
        guard !role.isReplaced else {
            gate.statistics.countDrop()
            return .ok
        }
        guard !gate.isMuted.load(ordering: .acquiring) else {
            gate.statistics.countMuted()
            return .ok
        }
        let block = buffer.writable()
        if let processor = role.processor {
            let flow = edit(block.access, processor, info, format, runningTime)
            guard flow == .ok else { return flow }
        }
        return send(block, info, runningTime)
    }

    /// Runs the processor on a block. Posts an error and returns a failure if the stream must end.
    private func edit(
        _ block: BufferAccess, _ processor: AudioProcessorHandle, _ info: AudioInfo, _ format: Caps,
        _ runningTime: ClockTime?
    ) -> FlowReturn {
        do throws(MediaGraphError) {
            let verdict = try process(block, processor, info, format, runningTime)
            switch verdict {
            case .pass:
                // The processor may have turned silence into sound.
                block.isGap = false
                return .ok
            case .drop:
                block.fill(with: 0)
                gate.statistics.countDrop()
                return .ok
            case .fail(let reason):
                gate.owner.postError(.processing, "\(gate.owner.name): handler \(processor.name): \(reason)")
                return .error
            }
        } catch {
            return fail(error, processor, block)
        }
    }

    /// Applies `on-error`.
    private func fail(
        _ error: MediaGraphError, _ processor: AudioProcessorHandle, _ block: BufferAccess
    ) -> FlowReturn {
        guard let element = gate.owner.element else { return .error }
        failures.add(
            error, of: .init(handler: "handler \(processor.name)", media: "block"), role.onError, gate.statistics,
            element,
            VirtualMicElement.log)
        switch role.onError {
        case .stop: return .error
        case .pass: block.isGap = false
        case .drop:
            block.fill(with: 0)
            gate.statistics.countDrop()
        case .detach:
            block.isGap = false
            role.processor = nil
            _ = state.withLock { $0.processor.take() }
        }
        return .ok
    }

    private func process(
        _ block: BufferAccess, _ processor: AudioProcessorHandle, _ info: AudioInfo, _ format: Caps,
        _ runningTime: ClockTime?
    ) throws(MediaGraphError) -> Verdict {
        let result = block.withAudioBuffer(info, .readWrite) { mapped -> Result<Verdict, MediaGraphError> in
            var frame = MGAudioFrame(
                mapped, in: block, format, times: AudioTimes(running: runningTime, stream: nil), streamStart: nil,
                isEdited: true)
            do throws(MediaGraphError) { return .success(try processor.process(&frame)) } catch {
                return .failure(error)
            }
        }
        guard let result else {
            throw .processingFailed(.init("audio", actual: "its buffer can't be mapped for writing"))
        }
        return try result.get()
    }

    /// Sends a block through the gate. Waits for PLAYING and for room in the queue. Drops the block if the microphone is
    /// muted meanwhile.
    private func send(_ block: borrowing Buffer, _ info: AudioInfo, _ runningTime: ClockTime?) -> FlowReturn {
        while true {
            let isOpen = gate.waitUntilOpen {
                isInterrupted.load(ordering: .acquiring) || gate.isMuted.load(ordering: .acquiring)
            }
            guard !isInterrupted.load(ordering: .acquiring) else { return .flushing }
            guard !gate.isMuted.load(ordering: .acquiring) else {
                gate.statistics.countMuted()
                return .ok
            }
            guard isOpen else { return gate.hasEnded ? .endOfStream : .flushing }
            var outgoing = MGOutgoingAudio(nil, 0, info.rate, info.channels, runningTime)
            outgoing.buffer = block.retained.take()
            do throws(MediaGraphError) {
                try gate.send(&outgoing) { [self] in isInterrupted.load(ordering: .acquiring) }
                return .ok
            } catch {
                switch error.code {
                // The wait for room was interrupted; the next pass returns `flushing`.
                case .timeOut: continue
                // The gate has counted the refused block.
                case .tooFrequent: return .ok
                case .wrongUsage: if gate.hasEnded { return .endOfStream }
                default:
                    gate.owner.postError(.processing, "\(gate.owner.name): \(error)")
                    return .error
                }
            }
        }
    }

    override func receivedWithoutTime() -> FlowReturn {
        gate.owner.postError(
            .processing,
            "\(gate.owner.name): the sink pad accepts only streams in time format; put rawaudioparse after a source of bytes"
        )
        return .error
    }

    override func reachedEndOfStream() { if !isReplaced { gate.endOfStreamRequested() } }

    override func flush(_ isStarting: Bool) {
        interrupt(isStarting)
        guard !isReplaced else { return }
        gate.owner.element?.sendFlush(isStarting)
    }

    override func interrupt(_ isOn: Bool) {
        isInterrupted.store(isOn, ordering: .releasing)
        gate.wake()
    }
}

/// The microphone of a node whose sound arrives at the `sink` pad. Does nothing, because `DeviceInput` sends.
final class DeviceMic: VirtualMic {
    func micStartSend() {}
    func micStopSend() {}
}
