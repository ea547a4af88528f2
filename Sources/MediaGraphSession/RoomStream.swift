import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// One user's stream of one kind, whether that user is there or not: readers come and go by themselves, and each gets every
/// buffer by reference. Nothing is kept for those who come later but what the stream is.
///
/// One lock, held while a buffer is put into the readers' queues, so that a reader that has been removed gets no more.
package final class RoomStream: Sendable {
    fileprivate struct State: Sendable {
        var readers: [StreamReader] = []
        var isPublished = false
        var format: StreamFormat?
        var timing: StreamTiming?
        /// Why something of it isn't shown, as its readers are told.
        var refusal: String?
        var isOn = false
        /// The room has announced that the user sends this stream. Unlike `isOn`, this is known before any of it arrives.
        var isExpected: Bool
        var publisher = PublisherReference()
        var keyFrameRequests = KeyFrameRequests()
        /// The publisher's user has already been warned.
        var hasWarned = false
        /// Buffers so far, whoever published them.
        var count: UInt64 = 0
    }

    fileprivate struct PublisherReference: Sendable {
        weak var publisher: StreamPublisher?
    }

    /// What readers ask of a stream that comes from elsewhere.
    enum Request: Sendable {
        /// The highest resolution that a reader wants; `nil` without readers.
        case demand(Resolution?)
        case keyFrame
    }

    package let key: StreamKey
    /// `room/user/kind`.
    package let id: String
    /// Counts the frames that remote readers received and lost.
    package let remoteStatistics = NodeStatistics()
    private let state: Mutex<State>
    /// Held while `requested` is called with the demand, so that the last call has the current demand.
    private let demandTurn = Mutex(())

    /// Called on any thread; the demand with `demandTurn` held.
    private let requested: @Sendable (Request) -> Void

    /// - Parameter isExpected: whether the room has announced that the user sends it.
    init(
        _ key: StreamKey, room: String, isExpected: Bool = false,
        requested: @escaping @Sendable (Request) -> Void = { _ in }
    ) {
        state = Mutex(State(isExpected: isExpected))
        self.key = key
        self.requested = requested
        id = "\(room)/\(key.user)/\(key.kind.stream.rawValue)"
    }

    // MARK: Readers

    package func add(_ reader: StreamReader) {
        reader.join(self)
        state.withLock { state in
            state.readers.append(reader)
            if state.isExpected { reader.setExpected(true) }
            guard state.isPublished else { return }
            reader.signal(.begin)
            if let format = state.format { reader.signal(.format(format)) }
            if let timing = state.timing { reader.signal(.timing(timing)) }
            if let refusal = state.refusal { reader.signal(.refused(refusal)) }
            if state.isOn { reader.signal(.status(true)) }
        }
        demandChanged()
        if isEncodedAndOn { requestKeyFrame() }
    }

    package func remove(_ reader: StreamReader) {
        state.withLock { $0.readers.removeAll { $0 === reader } }
        reader.join(nil)
        demandChanged()
    }

    /// Whoever comes now comes in the midst of it.
    private var isEncodedAndOn: Bool { state.withLock { $0.isOn && $0.format?.isEncoded == true } }

    /// Buffers so far, whoever published them.
    var bufferCount: UInt64 { state.withLock { $0.count } }

    /// `nil` while its user isn't there, or hasn't sent.
    var format: StreamFormat? { state.withLock { $0.format } }

    /// Readers have come or gone, or want another height.
    func demandChanged() { demandTurn.withLock { _ in requested(.demand(demand)) } }

    /// A reader can show nothing before the next key frame: whoever sends the stream is asked for one, once a second at most.
    package func requestKeyFrame() {
        let now = monotonicNanoseconds()
        let (isDue, publisher) = state.withLock { state in
            (state.keyFrameRequests.mayAsk(at: now), state.publisher.publisher)
        }
        guard isDue else { return }
        if let publisher { publisher.requestKeyFrame() } else { requested(.keyFrame) }
    }

    /// What of its height is enough for all who read it; `nil` where nobody does.
    var demand: Resolution? { state.withLock { Resolution.greatest($0.readers.map(\.demand)) } }

    // MARK: The publisher

    /// The user has joined and will send. `publisher` is `nil` for a remote user.
    package func begin(_ publisher: StreamPublisher? = nil) {
        state.withLock { state in
            (state.isPublished, state.isOn, state.refusal) = (true, false, nil)
            (state.publisher.publisher, state.hasWarned) = (publisher, false)
            state.tell(.begin)
        }
    }

    /// The user has left. With `ofRemoteUser`, does nothing if the user has meanwhile joined in this process: the local publisher's
    /// stream stays.
    func end(ofRemoteUser isRemote: Bool = false) {
        state.withLock { state in
            guard !isRemote || state.publisher.publisher == nil else { return }
            if state.isOn { state.tell(.status(false)) }
            state = State(readers: state.readers, isExpected: state.isExpected, count: state.count)
        }
    }

    /// Passes on whether the room has announced that the user sends this stream.
    func setExpected(_ isExpected: Bool) {
        state.withLock { state in
            guard state.isExpected != isExpected else { return }
            state.isExpected = isExpected
            for reader in state.readers { reader.setExpected(isExpected) }
        }
    }

    package func setCaps(_ caps: Caps) {
        let format = StreamFormat(caps)
        state.withLock { state in
            state.format = format
            state.refusal = nil
            state.tell(.format(format))
        }
    }

    package func setTiming(_ timing: StreamTiming) {
        state.withLock { state in
            state.timing = timing
            state.tell(.timing(timing))
        }
    }

    /// What its remote publisher sends can't be shown, for this reason: readers warn of it, those too that come before it has
    /// another format.
    package func refuse(_ problem: String) {
        state.withLock { state in
            state.refusal = problem
            state.tell(.refused(problem))
        }
    }

    /// A buffer of its remote publisher can't be shown, for this reason: the readers that are here warn of it.
    package func refuseBuffer(_ problem: String) { state.withLock { $0.tell(.refused(problem)) } }

    /// A buffer is lost to every reader.
    package func countLoss() {
        for reader in state.withLock({ $0.readers }) { reader.countLoss() }
    }

    /// True when it has changed.
    package func setStatus(_ isOn: Bool) -> Bool {
        state.withLock { state in
            guard state.isOn != isOn else { return false }
            state.isOn = isOn
            state.tell(.status(isOn))
            return true
        }
    }

    /// The publishing session's user hears of a trouble, once. Any thread, no lock held.
    package func warn(_ text: String) {
        let publisher = state.withLock { state in
            defer { state.hasWarned = true }
            return state.hasWarned ? nil : state.publisher.publisher
        }
        publisher?.warn(text)
    }

    /// To every reader, by reference.
    package func send(_ buffer: BufferAccess) {
        var lost: [(StreamReader, UnmanagedBuffer)] = []
        let lacksKeyFrame = state.withLock { state in
            state.count += 1
            var lacksKeyFrame = false
            for reader in state.readers
            where reader.offer(buffer, number: state.count, losing: { lost.append((reader, $0)) }) {
                lacksKeyFrame = true
            }
            return lacksKeyFrame
        }
        for (reader, buffer) in lost { reader.lose(buffer) }
        if lacksKeyFrame { requestKeyFrame() }
    }
}

extension RoomStream.State {
    fileprivate func tell(_ signal: StreamReader.Signal) {
        for reader in readers { reader.signal(signal) }
    }
}
