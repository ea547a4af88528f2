import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// One user's stream of one kind. It exists whether or not the user is in the room. Readers can be added and removed at
/// any time, and each gets every buffer of the form that it reads, by reference. A reader that is added later gets the stream's format, timing and
/// status, but no earlier buffers, except the last frame of a share, which may be the only one for a long time.
///
/// One lock guards the stream. It is held while a buffer is put into the readers' queues, so that a removed reader gets
/// no more buffers.
package final class RoomStream: Sendable {
    fileprivate struct State: Sendable {
        var readers: [Reader] = []
        var isPublished = false
        var format: StreamFormat?
        /// The format of the encoded form that a transport receives and decodes; `nil` if there is none.
        var encodedFormat: StreamFormat?
        var timing: StreamTiming?
        /// Why the stream isn't shown; readers warn of it.
        var refusal: String?
        var isOn = false
        /// Whether the user has turned the camera or the microphone off. The stream can't be on then.
        var isMuted = false
        /// Whether buffers are left out: from muting until the stream is on again.
        var isCut = false
        /// Whether the frames have an alpha channel, which an `alphachannel` adds.
        var hasAlpha = false
        /// Whether the room has announced that the user sends this stream. Unlike `isOn`, this is known before any of
        /// it arrives.
        var isExpected: Bool
        var publisher = PublisherReference()
        var keyFrameRequests = KeyFrameRequests()
        /// Whether the publisher's user has already been warned.
        var hasWarned = false
        /// The number of buffers sent so far, by all publishers in turn.
        var count: UInt64 = 0
        /// The same for buffers of the encoded form.
        var encodedCount: UInt64 = 0
        /// The last frame of a share that isn't encoded and is on.
        var latest = LatestFrame()
    }

    fileprivate struct Reader: Sendable {
        let reader: StreamReader
        /// Whether it reads the encoded form, if there is one.
        var prefersEncoded = false
    }

    /// A frame that is kept for readers that are added later. It is released outside of locks.
    fileprivate struct LatestFrame: Sendable {
        private var buffer: UnmanagedBuffer?
        private var number: UInt64 = 0

        /// Replaces the frame. Returns the old one, which the caller must release.
        mutating func replace(with new: BufferAccess? = nil, _ number: UInt64 = 0) -> UnmanagedBuffer? {
            defer { (buffer, self.number) = (new.map { UnmanagedBuffer($0.retained) }, number) }
            return buffer
        }

        /// Queues the frame for a reader that has nothing else to show, with the current time: a sink would drop an old one.
        func offer(to reader: StreamReader, _ timing: StreamTiming?) {
            guard let buffer else { return }
            let current = buffer.access.retained.writable()
            if let now = timing?.now { current.access.presentationTimestamp = now }
            reader.offerAgain(current.access, number: number)
        }
    }

    fileprivate struct PublisherReference: Sendable {
        weak var publisher: StreamPublisher?
    }

    /// What the readers of a remote user's stream request.
    enum Request: Sendable {
        /// What the readers want; `nil` without readers.
        case demand(StreamDemand?)
        /// A key frame.
        case keyFrame
    }

    package let key: StreamKey
    /// `room/user/kind`.
    package let id: String
    /// Counts the frames that remote readers received and lost.
    package let remoteStatistics = NodeStatistics()
    private let state: Mutex<State>
    private let clock: TimerClock
    /// Held while `requested` is called with the demand, so that the last call has the current demand.
    private let demandTurn = Mutex(())

    /// Called on any thread for each request; for `demand` with `demandTurn` held.
    private let requested: @Sendable (Request) -> Void

    /// - Parameters:
    ///   - key: The user and the kind of stream.
    ///   - room: The room's name.
    ///   - isExpected: Whether the room has announced that the user sends the stream.
    ///   - clock: The clock by which key frame requests are limited.
    ///   - requested: Called with the readers' requests.
    init(
        _ key: StreamKey, room: String, isExpected: Bool = false, clock: TimerClock = .system,
        requested: @escaping @Sendable (Request) -> Void = { _ in }
    ) {
        state = Mutex(State(isExpected: isExpected))
        self.key = key
        self.clock = clock
        self.requested = requested
        id = "\(room)/\(key.user)/\(key.kind.stream.rawValue)"
    }

    // MARK: Readers

    /// Adds a reader, and queues the signals that describe the stream.
    package func add(_ reader: StreamReader) {
        reader.join(self)
        state.withLock { state in
            let new = Reader(reader: reader, prefersEncoded: reader.prefersEncoded)
            state.readers.append(new)
            if state.isExpected { reader.setExpected(true) }
            guard state.isPublished else { return }
            reader.signal(.begin)
            if let format = state.readsEncoded(new) ? state.encodedFormat : state.format {
                reader.signal(.format(format))
            }
            if state.hasAlpha { reader.signal(.alpha(true)) }
            if let timing = state.timing { reader.signal(.timing(timing)) }
            if let refusal = state.refusal { reader.signal(.refused(refusal)) }
            if state.isOn { reader.signal(.status(true)) }
            if !state.readsEncoded(new) { state.latest.offer(to: reader, state.timing) }
        }
        demandChanged()
        if mustWaitForKeyFrame(reader) { requestKeyFrame() }
    }

    /// Removes a reader, which gets no more buffers or signals.
    package func remove(_ reader: StreamReader) {
        state.withLock { $0.readers.removeAll { $0.reader === reader } }
        reader.join(nil)
        demandChanged()
    }

    /// Queues a share's last frame for a reader that may have missed it, because nothing was linked to its pad.
    package func offerLatest(to reader: StreamReader) {
        state.withLock { state in
            guard state.readers.contains(where: { $0.reader === reader && !state.readsEncoded($0) }) else { return }
            state.latest.offer(to: reader, state.timing)
        }
    }

    /// Gives a reader the stream's encoded form from now on, if there is one, or the decoded one again. Returns whether the form
    /// changes.
    func setPrefersEncoded(_ prefersEncoded: Bool, _ reader: StreamReader) -> Bool {
        // Released without the lock.
        var obsolete: [UnmanagedBuffer] = []
        let (hasChanged, changesForm) = state.withLock { state in
            guard let index = state.readers.firstIndex(where: { $0.reader === reader }),
                state.readers[index].prefersEncoded != prefersEncoded
            else { return (false, false) }
            state.readers[index].prefersEncoded = prefersEncoded
            guard let encodedFormat = state.encodedFormat else { return (true, false) }
            obsolete = reader.takeFrames()
            if let format = prefersEncoded ? encodedFormat : state.format { reader.signal(.format(format)) }
            if let timing = state.timing { reader.signal(.timing(timing)) }
            return (true, true)
        }
        guard hasChanged else { return false }
        for frame in obsolete { _ = frame.take() }
        demandChanged()
        if prefersEncoded, changesForm { requestKeyFrame() }
        return changesForm
    }

    /// Whether a reader reads the encoded form.
    package var hasEncodedReaders: Bool {
        state.withLock { state in state.readers.contains { state.readsEncoded($0) } }
    }

    /// Whether a reader that is added now has to wait for a key frame.
    private func mustWaitForKeyFrame(_ reader: StreamReader) -> Bool {
        state.withLock { state in
            let isOfEncodedForm = state.encodedFormat != nil && reader.prefersEncoded
            return state.isOn && (isOfEncodedForm || state.format?.isEncoded == true)
        }
    }

    /// The number of buffers sent so far, by all publishers in turn.
    var bufferCount: UInt64 { state.withLock { $0.count } }

    /// The stream's format, of the decoded form if there are two; `nil` while its user isn't in the room or hasn't sent
    /// anything, and before a transport has decoded anything.
    package var format: StreamFormat? { state.withLock { $0.format } }

    /// Requests the demand anew, because readers were added or removed, or want another resolution.
    func demandChanged() {
        // Another process learns the demand of new readers when it is known, if others can be served until then.
        demandTurn.withLock { _ in
            let wantsDecoded = state.withLock { $0.readers.contains { !$0.prefersEncoded } }
            requested(
                .demand((knownDemand ?? demand).map { StreamDemand(resolution: $0, wantsDecoded: wantsDecoded) }))
        }
        state.withLock { $0.publisher.publisher }?.demandChanged()
    }

    /// Asks the stream's sender for a key frame, at most once a second.
    package func requestKeyFrame() {
        let now = clock.now
        let (isDue, publisher) = state.withLock { state in
            (state.keyFrameRequests.mayAsk(at: now), state.publisher.publisher)
        }
        guard isDue else { return }
        if let publisher { publisher.requestKeyFrame() } else { requested(.keyFrame) }
    }

    /// The resolution that is sufficient for all readers; `nil` if there are none. An unknown demand counts as native.
    var demand: Resolution? { state.withLock { Resolution.greatest($0.readers.map { $0.reader.demand ?? .native }) } }

    /// The resolution that is sufficient for the readers whose demand is known; `nil` if there are none. A reader's demand
    /// isn't known before it has the stream's format, so that a new reader doesn't make the sender change its size twice.
    var knownDemand: Resolution? { state.withLock { Resolution.greatest($0.readers.compactMap(\.reader.demand)) } }

    // MARK: The publisher

    deinit { _ = state.withLock { $0.latest.replace() }?.take() }

    /// Changes the state. If that makes the last frame obsolete, `body` returns it, to be released without the lock.
    private func change(_ body: (inout State) -> UnmanagedBuffer?) { _ = state.withLock { body(&$0) }?.take() }

    /// Begins the stream, because the user has joined and will send. `publisher` is `nil` for a remote user.
    package func begin(_ publisher: StreamPublisher? = nil) {
        change { state in
            (state.isPublished, state.isOn, state.hasAlpha, state.refusal) = (true, false, false, nil)
            (state.isMuted, state.isCut, state.encodedFormat) = (false, false, nil)
            (state.publisher.publisher, state.hasWarned) = (publisher, false)
            state.tell(.begin)
            return state.latest.replace()
        }
    }

    /// Ends the stream, because the user has left. With `ofRemoteUser`, does nothing if the user has joined in this
    /// process in the meantime: the local publisher's stream continues.
    func end(ofRemoteUser isRemote: Bool = false) {
        change { state in
            guard !isRemote || state.publisher.publisher == nil else { return nil }
            if state.isOn { state.tell(.status(false)) }
            defer {
                state = State(
                    readers: state.readers, isExpected: state.isExpected, count: state.count,
                    encodedCount: state.encodedCount)
            }
            return state.latest.replace()
        }
    }

    /// Passes on whether the room has announced that the user sends this stream.
    func setExpected(_ isExpected: Bool) {
        state.withLock { state in
            guard state.isExpected != isExpected else { return }
            state.isExpected = isExpected
            for reader in state.readers { reader.reader.setExpected(isExpected) }
        }
    }

    /// Sets the format of the buffers that follow.
    package func setCaps(_ caps: Caps) {
        change { state in
            let format = StreamFormat(caps)
            state.format = format
            state.refusal = nil
            state.tell(.format(format), readersOfEncoded: false)
            return state.latest.replace()
        }
    }

    /// Sets the format of the encoded buffers that follow, which the transport also decodes if a reader wants that. Readers
    /// whose elements accept only encoded buffers get these.
    package func setEncodedCaps(_ caps: Caps) {
        state.withLock { state in
            let format = StreamFormat(caps)
            state.encodedFormat = format
            state.tell(.format(format), readersOfEncoded: true)
        }
    }

    /// Sets the timing of the buffers that follow.
    package func setTiming(_ timing: StreamTiming) {
        state.withLock { state in
            state.timing = timing
            state.tell(.timing(timing))
        }
    }

    /// Tells the readers why nothing that the remote publisher sends can be shown. Readers warn of it, including those
    /// that are added before the format changes.
    package func refuse(_ problem: String) {
        state.withLock { state in
            state.refusal = problem
            state.tell(.refused(problem))
        }
    }

    /// Tells the current readers why one of the remote publisher's buffers can't be shown. They warn of it.
    package func refuseBuffer(_ problem: String) { state.withLock { $0.tell(.refused(problem)) } }

    /// Counts a buffer as dropped for every reader.
    package func countLoss() {
        for reader in state.withLock({ $0.readers }) { reader.reader.countLoss() }
    }

    /// Sets whether the stream is on. Returns whether that has changed.
    package func setStatus(_ isOn: Bool) -> Bool {
        var hasChanged = false
        change { state in
            guard state.isOn != isOn, !(isOn && state.isMuted) else { return nil }
            state.isOn = isOn
            if isOn { state.isCut = false }
            state.tell(.status(isOn))
            hasChanged = true
            return state.latest.replace()
        }
        return hasChanged
    }

    /// Mutes the local publisher's stream, which is off at once, or unmutes it, after which `setStatus(true)` turns it on
    /// again. Buffers in between are left out.
    func setMuted(_ isMuted: Bool) {
        change { state in
            state.isMuted = isMuted
            guard isMuted else { return nil }
            state.isCut = true
            for reader in state.readers { reader.reader.buffersWillBeMissing() }
            if state.isOn {
                state.isOn = false
                state.tell(.status(false))
            }
            return state.latest.replace()
        }
    }

    /// Whether the stream is on, and whether it is muted.
    var status: (isOn: Bool, isMuted: Bool) { state.withLock { ($0.isOn, $0.isMuted) } }

    /// Sets whether the frames that follow have an alpha channel. Returns whether that has changed.
    package func setAlpha(_ isOn: Bool) -> Bool {
        state.withLock { state in
            guard state.hasAlpha != isOn else { return false }
            state.hasAlpha = isOn
            state.tell(.alpha(isOn))
            return true
        }
    }

    /// Warns the local publisher's user, once. Callable from any thread; don't hold a lock.
    package func warn(_ text: String) {
        let publisher = state.withLock { state in
            defer { state.hasWarned = true }
            return state.hasWarned ? nil : state.publisher.publisher
        }
        publisher?.warn(text)
    }

    /// Sends a buffer to every reader, by reference. Returns false, and leaves the buffer out, while the stream is muted.
    @discardableResult
    package func send(_ buffer: BufferAccess) -> Bool { send(buffer, isEncodedForm: false) }

    /// Sends a buffer of the encoded form to every reader of that form, by reference.
    package func sendEncoded(_ buffer: BufferAccess) { _ = send(buffer, isEncodedForm: true) }

    private func send(_ buffer: BufferAccess, isEncodedForm: Bool) -> Bool {
        var lost: [(StreamReader, UnmanagedBuffer)] = []
        var old: UnmanagedBuffer?
        let lacksKeyFrame = state.withLock { state -> Bool? in
            // Buffers that are left out have numbers too, so that readers notice the gap.
            let number = state.countBuffer(isEncodedForm)
            guard !state.isCut else { return nil }
            var lacksKeyFrame = false
            for reader in state.readers
            where state.readsEncoded(reader) == isEncodedForm
                && reader.reader.offer(buffer, number: number, losing: { lost.append((reader.reader, $0)) })
            {
                lacksKeyFrame = true
            }
            if key.kind == .share, !isEncodedForm, state.format?.isEncoded == false {
                old = state.latest.replace(with: buffer, state.count)
            } else if isEncodedForm, state.readers.allSatisfy(\.prefersEncoded) {
                // Newer frames aren't decoded.
                old = state.latest.replace()
            }
            return lacksKeyFrame
        }
        _ = old?.take()
        for (reader, buffer) in lost { reader.drop(buffer) }
        if lacksKeyFrame == true { requestKeyFrame() }
        return lacksKeyFrame != nil
    }
}

extension RoomStream.State {
    fileprivate func tell(_ signal: StreamReader.Signal) {
        for reader in readers { reader.reader.signal(signal) }
    }

    /// Tells the readers of the encoded form only, or all others.
    fileprivate func tell(_ signal: StreamReader.Signal, readersOfEncoded: Bool) {
        for reader in readers where readsEncoded(reader) == readersOfEncoded { reader.reader.signal(signal) }
    }

    fileprivate func readsEncoded(_ reader: RoomStream.Reader) -> Bool {
        reader.prefersEncoded && encodedFormat != nil
    }

    /// Returns the number of a new buffer.
    fileprivate mutating func countBuffer(_ isEncodedForm: Bool) -> UInt64 {
        if isEncodedForm {
            encodedCount += 1
            return encodedCount
        }
        count += 1
        return count
    }
}

/// Limits how often a key frame is requested, because each costs as much as many other frames.
struct KeyFrameRequests {
    private var last: UInt64?
    /// In nanoseconds.
    private static let interval: UInt64 = 1_000_000_000

    /// Returns whether to request a key frame now, and counts it as requested. `now` is in nanoseconds of any clock.
    mutating func mayAsk(at now: UInt64) -> Bool {
        if let last, now < last + Self.interval { return false }
        last = now
        return true
    }
}
