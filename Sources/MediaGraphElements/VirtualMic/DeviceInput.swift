import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// What comes into a `virtualmic`'s `sink`: a device's sound, which the node's processor edits, and which then goes the way of
/// all that is sent. With a microphone of the node's own it goes nowhere.
///
/// `@unchecked Sendable`: constants, state behind a lock, and what belongs to the pad's streaming thread.
final class DeviceInput: InputPadDelegate, @unchecked Sendable {
    /// Set before data flows.
    struct Role: Sendable {
        var processor: AudioProcessorHandle?
        /// A microphone has the device's place.
        var isReplaced = false
    }

    private let gate: AudioGate
    private let state = Mutex(Role())
    /// What the node's `stereo` says, which a description's link asks for before anything runs.
    let allowsStereo = Atomic<Bool>(false)
    private let isInterrupted = Atomic<Bool>(false)
    // The streaming thread's.
    private var info: AudioInfo?
    private var format: Caps?
    private var role = Role()

    init(_ gate: AudioGate) { self.gate = gate }

    func set(_ role: Role) { state.withLock { $0 = role } }

    /// Nothing of what comes in is heard.
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
        let block = buffer.writable()
        if let processor = role.processor {
            let flow = edit(block.access, processor, info, format, runningTime)
            guard flow == .ok else { return flow }
        }
        return send(block, info, runningTime)
    }

    private func edit(
        _ block: BufferAccess, _ processor: AudioProcessorHandle, _ info: AudioInfo, _ format: Caps,
        _ runningTime: ClockTime?
    ) -> FlowReturn {
        do throws(MediaGraphError) {
            let verdict = try process(block, processor, info, format, runningTime)
            switch verdict {
            case .pass:
                // What was silence may not be any more.
                block.isGap = false
                return .ok
            case .drop:
                block.silence()
                gate.statistics.countDrop()
                return .ok
            case .fail(let reason):
                gate.owner.postError(.processing, "\(gate.owner.name): handler \(processor.name): \(reason)")
            }
        } catch {
            gate.owner.postError(.processing, "\(gate.owner.name): handler \(processor.name): \(error)")
        }
        return .error
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

    /// Waits for room, and before PLAYING for that.
    private func send(_ block: borrowing Buffer, _ info: AudioInfo, _ runningTime: ClockTime?) -> FlowReturn {
        while true {
            let isOpen = gate.waitUntilOpen { isInterrupted.load(ordering: .acquiring) }
            guard !isInterrupted.load(ordering: .acquiring) else { return .flushing }
            guard isOpen else { return gate.hasEnded ? .endOfStream : .flushing }
            var outgoing = MGOutgoingAudio(nil, 0, info.rate, info.channels, runningTime)
            outgoing.buffer = block.retained.take()
            do throws(MediaGraphError) {
                try gate.send(&outgoing) { [self] in isInterrupted.load(ordering: .acquiring) }
                return .ok
            } catch {
                switch error.code {
                // Interrupted while it waited for room.
                case .timeOut: continue
                // Counted.
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
            "\(gate.owner.name): its sink takes streams in time format only: put rawaudioparse behind a file of bytes")
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

/// The microphone of a node whose sound comes in at its `sink`: it has nothing to do.
final class DeviceMic: VirtualMic {
    func micStartSend() {}
    func micStopSend() {}
}
