import GStreamer
import MediaGraphCore
import Synchronization

/// One of a speaker's inputs: the pad's stream, its conversion if needed, and the tap that delivers its blocks.
///
/// ```
/// user_bob ─▶ (audioconvert ─▶ F32 ─▶ audioresample ─▶ audioconvert ─▶ S16) ─▶ ◉ tap ─▶ audiomixer
/// ```
/// A stream that already is S16 with the speaker's rate and channels goes directly to the mixer.
///
/// `@unchecked Sendable`: a lock guards `chain`. Only the streaming thread uses `channel`, `segment` and `hasBegun`, or
/// the thread that disconnects the pad after the streaming thread has left.
final class SpeakerInput: PadTap, @unchecked Sendable {
    /// How far a stream has to be converted. The conversion never becomes less during a stream: removing a resampler
    /// would lose the samples in it.
    private enum Conversion: Int, Comparable {
        case none, format, rate
        static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    private struct Chain {
        var conversion: Conversion?
        var elements: [Element] = []
        /// The sink pad that the chain feeds: the mixer's, or that of a shared stream's `SpeakerEnd`.
        var outlet: Pad?
        var isReleased = false
        /// Whether a thread is removing the chain, or has removed it: because of a stop or a released pad.
        var isTakenAway = false
    }

    /// Converter properties without dither, so that equal samples are always converted to the same, nearest value.
    static let exactConversion = [("dithering", "none"), ("noise-shaping", "none")]

    /// Whether the pad is for a share's sound. Counts if the stream's ID doesn't contain the kind.
    private let isSharePad: Bool
    private let share: Atomic<Bool>
    /// The user in the pad's name. Counts if the stream's ID doesn't contain the user.
    private let padUser: SpeakerUser
    private let delivery: SpeakerDelivery
    private let changed: @Sendable () -> Void
    private let flushBegins: @Sendable () -> Void
    private let chain = Mutex(Chain())
    private let ending = Atomic<Bool>(false)
    /// Whether the pad is being disconnected.
    private let leaving = Atomic<Bool>(false)
    /// Whether the tap stops EOS from reaching the outlet.
    private let withholdsEnd = Atomic<Bool>(false)

    private var channel: SpeakerChannel? { didSet { flushed.withLock { $0 = channel } } }
    /// A copy of `channel` for flushes, which come on any thread, concurrently with the streaming thread.
    private let flushed = Mutex<SpeakerChannel?>(nil)
    private var segment = Segment.undefined
    /// Whether the stream has brought a buffer.
    private var hasBegun = false
    /// Whether `reroute` is sending EOS through the old chain, which isn't the stream's end.
    private var isRerouting = false

    /// Makes an input for a pad.
    ///
    /// - Parameters:
    ///   - changed: runs on the streaming thread when the stream brings its first buffer, and when it ends.
    ///   - flushBegins: runs on any thread when a flush begins, before the mixer receives the flush.
    init(
        padName: String, isShared: Bool, _ delivery: SpeakerDelivery, changed: @escaping @Sendable () -> Void,
        flushBegins: @escaping @Sendable () -> Void
    ) {
        isSharePad = isShared
        share = Atomic(isShared)
        self.delivery = delivery
        self.changed = changed
        self.flushBegins = flushBegins
        padUser = SpeakerUser(padName: padName)
    }

    /// Whether the stream comes from a session, according to its ID. Only the streaming thread uses this.
    private(set) var isFromSession = false

    /// Whether the stream is a share's sound, which isn't mixed.
    var isShared: Bool { share.load(ordering: .acquiring) }

    /// Whether the stream has ended. False again when a new stream begins.
    var hasEnded: Bool { ending.load(ordering: .acquiring) }

    // MARK: The chain

    /// Makes the stream go to a sink pad, and sets the tap there. Returns false if the stream is connected already or
    /// its pad is released.
    func connect(to outlet: () -> Pad?) -> Bool {
        chain.withLock { chain in
            guard chain.outlet == nil, !chain.isReleased, let pad = outlet() else { return false }
            pad.setTap(self)
            chain.outlet = pad
            return true
        }
    }

    var isConnected: Bool { chain.withLock { $0.outlet != nil } }

    /// Builds the conversion for these caps. Called on the streaming thread before the caps go downstream. Returns
    /// false if the caps can't be converted, or if the pad isn't connected.
    func prepare(_ caps: Caps, for format: SpeakerDelivery.Format, _ pad: GhostPad, in bin: BinElement) -> Bool {
        guard let info = AudioInfo(caps) else { return false }
        return chain.withLock { chain in
            guard let outlet = chain.outlet, !chain.isReleased else { return false }
            let needed: Conversion =
                caps.isSubset(of: format.caps) ? .none : info.rate == format.info.rate ? .format : .rate
            if let conversion = chain.conversion, conversion >= needed { return true }
            let replaced = chain.elements
            if needed != .none || !replaced.isEmpty { pad.setTarget(nil) }
            if let last = replaced.last?.staticPad("src") { last.unlink(from: outlet) }
            for element in replaced { bin.remove(element) }
            chain.elements = Self.elements(needed, format)
            chain.conversion = needed
            for element in chain.elements { bin.add(element) }
            for (from, to) in zip(chain.elements, chain.elements.dropFirst()) { _ = from.link(to: to) }
            if let last = chain.elements.last?.staticPad("src"), !last.link(to: outlet) { return false }
            for element in chain.elements.reversed() { element.syncState() }
            pad.setTarget(chain.elements.first?.staticPad("sink") ?? outlet)
            return true
        }
    }

    /// Disconnects the old chain if the stream that begins isn't of the same kind as the previous one: one is a share's
    /// sound and the other isn't. Called on the streaming thread.
    ///
    /// `release` gets the old outlet. If the previous stream brought any buffers, EOS has been sent to the outlet after
    /// them.
    func reroute(
        for streamID: String, _ pad: GhostPad, in bin: BinElement,
        release: (_ outlet: Pad, _ wasShared: Bool, _ isUsed: Bool) -> Void
    ) {
        let kind = SpeakerUser.kind(streamID: streamID)
        isFromSession = kind != nil
        let isShared = kind == .shareAudio || kind != .audio && isSharePad
        guard isShared != self.isShared else { return }
        share.store(isShared, ordering: .releasing)
        isRerouting = true
        defer { isRerouting = false }
        let taken = chain.withLock { chain in
            defer { chain = Chain(isReleased: chain.isReleased) }
            return chain
        }
        pad.setTarget(nil)
        if let outlet = taken.outlet {
            if hasBegun { (taken.elements.first?.staticPad("sink") ?? outlet).sendEndOfStream() }
            release(outlet, !isShared, hasBegun)
        }
        for element in taken.elements { bin.remove(element) }
        end()
        hasBegun = false
    }

    /// Links the pad directly to the outlet while there are no caps, and so no conversion. Then EOS passes downstream,
    /// and a seek upstream.
    func linkDirectly(_ pad: GhostPad) {
        chain.withLock { chain in
            if chain.conversion == nil, !chain.isReleased, let outlet = chain.outlet { pad.setTarget(outlet) }
        }
    }

    /// Sends the samples that the resampler still holds to the outlet. Call this on the streaming thread before the
    /// stream's status becomes off. Otherwise these samples would arrive after the status, when the pad is released.
    func drain() {
        let inlet = chain.withLock { $0.conversion == .rate ? $0.elements.first?.staticPad("sink") : nil }
        inlet?.repeatSegment()
    }

    private static func elements(_ conversion: Conversion, _ format: SpeakerDelivery.Format) -> [Element] {
        func make(_ factory: String, _ properties: [(String, String)]) -> Element {
            guard let element = Element(factory: factory) else {
                preconditionFailure("the element \(factory) is missing: install gstreamer1.0-plugins-base")
            }
            for (name, value) in properties { element.configure(name, parsing: value) }
            return element
        }
        let delivered = make("capsfilter", [("caps", "\(format.caps)")])
        switch conversion {
        case .none: return []
        case .format: return [make("audioconvert", exactConversion), delivered]
        case .rate:
            // Resample in floating point: with 16-bit coefficients the resampler's own noise would be audible.
            let float = "audio/x-raw, format=\(AudioFormat.f32.gstreamerName), channels=\(format.info.channels)"
            return [
                make("audioconvert", []), make("capsfilter", [("caps", float)]),
                // The default quality, 4, has −78 dB of distortion and noise near the top of the band.
                make("audioresample", [("quality", "8")]),
                make("audioconvert", exactConversion), delivered,
            ]
        }
    }

    /// The chain of a user who has left, with sound still in it.
    struct DetachedChain: Sendable {
        fileprivate let input: SpeakerInput
        fileprivate let inlet: Pad
        fileprivate let elements: [Element]
        let outlet: Pad

        /// Drains the resampler, which holds a few milliseconds of sound, removes the chain, and then sends EOS to the
        /// outlet. Blocks while the mixer has no room.
        ///
        /// EOS must come after the elements are removed. The mixer queries its streams' latency, and elements without a
        /// peer don't answer. Without an answer, the mixer would wait for the next event.
        func finish(in bin: BinElement) {
            input.withholdsEnd.store(true, ordering: .releasing)
            inlet.sendEndOfStream()
            for element in elements { bin.remove(element) }
            input.withholdsEnd.store(false, ordering: .releasing)
            outlet.sendEndOfStream()
        }
    }

    /// Takes the chain out without draining it. Returns `nil` if there is no resampler, which is the only element that
    /// holds sound, or if a thread is just feeding the chain, which may take long.
    func detachChain(_ pad: GhostPad) -> DetachedChain? {
        chain.withLock { chain in
            guard chain.conversion == .rate, let outlet = chain.outlet,
                let inlet = chain.elements.first?.staticPad("sink")
            else { return nil }
            pad.setTarget(nil)
            guard !inlet.isReceiving else { return nil }
            defer { chain = Chain(isReleased: true, isTakenAway: true) }
            return DetachedChain(input: self, inlet: inlet, elements: chain.elements, outlet: outlet)
        }
    }

    /// Removes the chain, after data flow has ended or in order to end it. `free` gets the outlet first, so that no
    /// thread still waits there.
    func disconnect(_ pad: GhostPad, in bin: BinElement, isReleased: Bool, _ free: (Pad) -> Void) {
        let isFirst = chain.withLock { chain in
            if isReleased { chain.isReleased = true }
            defer { chain.isTakenAway = true }
            return !chain.isTakenAway
        }
        guard isFirst else {
            if isReleased { bin.remove(pad) }
            return
        }
        // The pad's streaming thread may be waiting for another stream's callback. This function may have been called
        // from that callback, or the callback may be blocked because the application doesn't read.
        leaving.store(true, ordering: .releasing)
        delivery.hold(for: ObjectIdentifier(self))
        defer { delivery.release(for: ObjectIdentifier(self)) }
        let outlet = chain.withLock { $0.outlet.take() }
        if let outlet { free(outlet) }
        if isReleased { bin.remove(pad) } else { pad.setTarget(nil) }
        let elements = chain.withLock { chain in
            defer { chain = Chain(isReleased: chain.isReleased, isTakenAway: true) }
            return chain.elements
        }
        for element in elements { bin.remove(element) }
        // `free` may have sent EOS, but a stream that was just beginning has cleared it. The mixer would wait for this
        // pad.
        if isReleased, let outlet, !outlet.hasEnded { outlet.sendEndOfStream() }
        leaving.store(isReleased, ordering: .releasing)
        end()
        segment = Segment.undefined
        hasBegun = false
        ending.store(false, ordering: .releasing)
        chain.withLock { $0.isTakenAway = $0.isReleased }
    }

    /// Delivers status off for the current stream.
    private func end() {
        guard let channel else { return }
        self.channel = nil
        delivery.receive(.status(channel, false))
    }

    // MARK: The tap

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        guard !leaving.load(ordering: .acquiring) else { return .flushing }
        if !hasBegun {
            hasBegun = true
            changed()
        }
        let channel = channel ?? begin(nil)
        let access = buffer.access
        guard let info = delivery.format?.info, !segment.contains(access) else { return deliver(access, channel) }
        // The mixer drops samples outside the segment, so they aren't delivered either.
        guard let clipped = access.clipped(to: segment, info) else { return .ok }
        return deliver(clipped.access, channel)
    }

    override func received(_ event: Event) -> Bool {
        switch event {
        case .streamStart(let start):
            if let channel, channel.streamStart?.id != start.id { end() }
            ending.store(false, ordering: .releasing)
            _ = begin(start)
        case .segment(let segment): self.segment = segment
        case .endOfStream:
            guard !withholdsEnd.load(ordering: .acquiring) else { return false }
            end()
            // The EOS of a rerouted stream or of a released pad isn't the end of the stream.
            guard !isRerouting, !leaving.load(ordering: .acquiring) else { break }
            ending.store(true, ordering: .releasing)
            changed()
        case .flushStart:
            delivery.flushStarted(ObjectIdentifier(self), flushed.withLock { $0 })
            flushBegins()
        case .flushStop:
            ending.store(false, ordering: .releasing)
            delivery.release(for: ObjectIdentifier(self))
        case .custom(let structure) where structure.name == StreamStatus.eventName:
            guard let on = structure["on", as: Bool.self] else { break }
            delivery.receive(.status(channel ?? begin(nil), on)) { leaving.load(ordering: .acquiring) }
        case .caps, .orientation, .custom: break
        }
        return true
    }

    private func deliver(_ buffer: BufferAccess, _ channel: SpeakerChannel) -> FlowReturn {
        delivery.receive(buffer, of: channel, times: AudioTimes(of: buffer, in: segment)) {
            leaving.load(ordering: .acquiring)
        }
    }

    /// Returns the channel for a stream, making a new one if the stream's ID differs from the current channel's.
    private func begin(_ start: StreamStart?) -> SpeakerChannel {
        if let channel, start == nil || channel.streamStart?.id == start?.id { return channel }
        let user = start.flatMap { SpeakerUser(streamID: $0.id) } ?? padUser
        let made = SpeakerChannel(isShared ? .shared : .oneWay(user), start)
        channel = made
        return made
    }
}
