import GStreamer
import Synchronization

/// One user's stream of one kind, whether that user is there or not: readers come and go by themselves, and each gets every
/// buffer by reference. Nothing is kept for those who come later but what the stream is.
///
/// One lock, held while a buffer is put into the readers' queues, so that a reader that has been removed gets no more.
final class RoomStream: Sendable {
    fileprivate struct State: Sendable {
        var readers: [StreamReader] = []
        var isPublished = false
        var format: StreamFormat?
        var timing: StreamTiming?
        var isOn = false
        /// The session that publishes, as long as nothing has been said to its user.
        var owner: WeakElement?
        /// Buffers so far, whoever published them.
        var count: UInt64 = 0
    }

    let key: StreamKey
    /// `room/user/kind`.
    let id: String
    /// What its readers in other processes have got and lost.
    let remoteStatistics = NodeStatistics()
    private let state = Mutex(State())

    /// Called when a reader has come or gone, or wants another height, with no lock held.
    private let demandChanged: @Sendable () -> Void

    init(_ key: StreamKey, room: String, demandChanged: @escaping @Sendable () -> Void = {}) {
        self.key = key
        self.demandChanged = demandChanged
        id = "\(room)/\(key.user)/\(key.kind.stream.rawValue)"
    }

    // MARK: Readers

    func add(_ reader: StreamReader) {
        reader.onDemand(demandChanged)
        state.withLock { state in
            state.readers.append(reader)
            guard state.isPublished else { return }
            reader.signal(.begin)
            if let format = state.format { reader.signal(.format(format)) }
            if let timing = state.timing { reader.signal(.timing(timing)) }
            if state.isOn { reader.signal(.status(true)) }
        }
        demandChanged()
    }

    func remove(_ reader: StreamReader) {
        reader.onDemand(nil)
        state.withLock { $0.readers.removeAll { $0 === reader } }
        demandChanged()
    }

    /// `nil` while its user isn't there, or hasn't sent.
    var format: StreamFormat? { state.withLock { $0.format } }

    /// What of its height is enough for all who read it; `nil` where nobody does.
    var demand: Resolution? { state.withLock { Resolution.greatest($0.readers.map(\.demand)) } }

    // MARK: The publisher

    /// The user is there and will send; `owner` is the session that does.
    func begin(_ owner: WeakElement? = nil) {
        state.withLock { state in
            state.isPublished = true
            state.owner = owner
            state.tell(.begin)
        }
    }

    /// The user has gone.
    func end() {
        state.withLock { state in
            if state.isOn { state.tell(.status(false)) }
            state = State(readers: state.readers, count: state.count)
        }
    }

    func setCaps(_ caps: Caps) {
        let format = StreamFormat(caps)
        state.withLock { state in
            state.format = format
            state.tell(.format(format))
        }
    }

    func setTiming(_ timing: StreamTiming) {
        state.withLock { state in
            state.timing = timing
            state.tell(.timing(timing))
        }
    }

    /// True when it has changed.
    func setStatus(_ isOn: Bool) -> Bool {
        state.withLock { state in
            guard state.isOn != isOn else { return false }
            state.isOn = isOn
            state.tell(.status(isOn))
            return true
        }
    }

    /// The publishing session's user hears of a trouble, once. Any thread, no lock held.
    func warn(_ text: String) {
        guard let owner = state.withLock({ $0.owner.take() }) else { return }
        owner.postWarning(.wrongFormat, "\(owner.name): \(key.kind.inputPad) \(text)")
    }

    /// To every reader, by reference.
    func send(_ buffer: BufferAccess) {
        var lost: [(StreamReader, UnmanagedBuffer)] = []
        state.withLock { state in
            state.count += 1
            for reader in state.readers {
                if let buffer = reader.offer(buffer, number: state.count) { lost.append((reader, buffer)) }
            }
        }
        for (reader, buffer) in lost { reader.lose(buffer) }
    }
}

extension RoomStream.State {
    fileprivate func tell(_ signal: StreamReader.Signal) {
        for reader in readers { reader.signal(signal) }
    }
}
