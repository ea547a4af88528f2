import GStreamer
import MediaGraphCore
import Synchronization

/// One stream that comes in: its pad, what converts it where need be, and the tap that hands it over.
///
/// ```
/// user_bob ─▶ (audioconvert ─▶ F32 ─▶ audioresample ─▶ audioconvert ─▶ S16) ─▶ ◉ tap ─▶ audiomixer
/// ```
/// A stream that is S16 in the speaker's rate and channels already goes straight to the mixer.
///
/// `@unchecked Sendable`: the chain is behind a lock; `channel`, `segment` and `hasBegun` belong to the streaming thread,
/// or to whoever disconnects the pad after it.
final class SpeakerInput: PadTap, @unchecked Sendable {
    /// How much a stream has to be converted. It never goes back to less: a resampler that was taken out would take samples
    /// with it.
    private enum Conversion: Int, Comparable {
        case none, format, rate
        static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    private struct Chain {
        var conversion: Conversion?
        var elements: [Element] = []
        /// The mixer's pad, or that of the end of a shared stream.
        var outlet: Pad?
        var isReleased = false
        /// Somebody takes it away, or has: a stop, or who leaves.
        var isTakenAway = false
    }

    /// Samples become the nearest value of the other format, and the same ones always the same: no dither.
    static let exactConversion = [("dithering", "none"), ("noise-shaping", "none")]

    /// What the pad's name says, where the stream's ID says nothing.
    private let isSharePad: Bool
    private let share: Atomic<Bool>
    private let padUser: SpeakerUser
    private let delivery: SpeakerDelivery
    private let changed: @Sendable () -> Void
    private let flushBegins: @Sendable () -> Void
    private let chain = Mutex(Chain())
    private let ending = Atomic<Bool>(false)
    private let leaving = Atomic<Bool>(false)
    private let withholdsEnd = Atomic<Bool>(false)

    private var channel: SpeakerChannel? { didSet { flushed.withLock { $0 = channel } } }
    /// The same for a flush, which comes on any thread, while the streaming thread is at work.
    private let flushed = Mutex<SpeakerChannel?>(nil)
    private var segment = Segment.undefined
    private var hasBegun = false
    /// Its stream goes another way from now on: the end of the old way isn't the stream's.
    private var isTurning = false

    /// `changed` runs on the streaming thread: it has begun to bring buffers, or brings no more. `flushBegins` runs on any, before
    /// the mixer has the flush.
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

    /// Whether a session says whose stream it is. Belongs to the streaming thread.
    private(set) var isOfSession = false

    /// Whether it brings a share's sound, which is no part of the mix.
    var isShared: Bool { share.load(ordering: .acquiring) }

    /// No more comes in, until a new stream begins.
    var hasEnded: Bool { ending.load(ordering: .acquiring) }

    // MARK: The chain

    /// Where the stream goes. False when it has got a place already, or is released.
    func connect(to outlet: () -> Pad?) -> Bool {
        chain.withLock { chain in
            guard chain.outlet == nil, !chain.isReleased, let pad = outlet() else { return false }
            pad.setTap(self)
            chain.outlet = pad
            return true
        }
    }

    var isConnected: Bool { chain.withLock { $0.outlet != nil } }

    /// Builds what these caps need, on the streaming thread, before they go on. False when they can't be.
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

    /// A stream of that ID begins, on its streaming thread. Where it is of another sort than the one before, it goes another way:
    /// `release` has the outlet of the old one, on which is what was said last and its end, if anything came by it.
    func turn(
        for streamID: String, _ pad: GhostPad, in bin: BinElement,
        release: (_ outlet: Pad, _ wasShared: Bool, _ isUsed: Bool) -> Void
    ) {
        let kind = SpeakerUser.kind(streamID: streamID)
        isOfSession = kind != nil
        let isShared = kind == .shareAudio || kind != .audio && isSharePad
        guard isShared != self.isShared else { return }
        share.store(isShared, ordering: .releasing)
        isTurning = true
        defer { isTurning = false }
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
    }

    /// Without caps there is nothing to convert yet, but its end gets through, and upstream a seek.
    func lead(_ pad: GhostPad) {
        chain.withLock { chain in
            if chain.conversion == nil, !chain.isReleased, let outlet = chain.outlet { pad.setTarget(outlet) }
        }
    }

    private static func elements(_ conversion: Conversion, _ format: SpeakerDelivery.Format) -> [Element] {
        func make(_ factory: String, _ properties: [(String, String)]) -> Element {
            guard let element = Element(factory: factory) else {
                preconditionFailure("the element \(factory) is missing: install gstreamer1.0-plugins-base")
            }
            for (name, value) in properties { try? element.setProperty(name, parsing: value) }
            return element
        }
        let delivered = make("capsfilter", [("caps", "\(format.caps)")])
        switch conversion {
        case .none: return []
        case .format: return [make("audioconvert", exactConversion), delivered]
        case .rate:
            // In floating point: with 16-bit coefficients the resampler's own noise would be heard.
            let float = "audio/x-raw, format=\(AudioFormat.f32.gstreamerName), channels=\(format.info.channels)"
            return [
                make("audioconvert", []), make("capsfilter", [("caps", float)]),
                // Near the top of the band the element's default, 4, makes −78 dB of distortion and noise.
                make("audioresample", [("quality", "8")]),
                make("audioconvert", exactConversion), delivered,
            ]
        }
    }

    /// What converts a stream whose user has left, and where it goes.
    struct Remains: Sendable {
        fileprivate let input: SpeakerInput
        fileprivate let inlet: Pad
        fileprivate let elements: [Element]
        let outlet: Pad

        /// Has the resampler give what it holds, a few milliseconds, and then the end. Waits while the mixer has no room.
        ///
        /// The mixer asks for its streams' latency, which elements without a peer don't know, and where it gets no answer waits for
        /// the next that comes: so the end comes when they are gone.
        func finish(in bin: BinElement) {
            input.withholdsEnd.store(true, ordering: .releasing)
            inlet.sendEndOfStream()
            for element in elements { bin.remove(element) }
            input.withholdsEnd.store(false, ordering: .releasing)
            outlet.sendEndOfStream()
        }
    }

    /// Takes the chain out as it is, where there is something left in it. `nil` also while somebody feeds it: that may last.
    func takeRemains(_ pad: GhostPad) -> Remains? {
        chain.withLock { chain in
            guard chain.conversion == .rate, let outlet = chain.outlet,
                let inlet = chain.elements.first?.staticPad("sink")
            else { return nil }
            pad.setTarget(nil)
            guard !inlet.isTaking else { return nil }
            defer { chain = Chain(isReleased: true, isTakenAway: true) }
            return Remains(input: self, inlet: inlet, elements: chain.elements, outlet: outlet)
        }
    }

    /// Takes the chain away; after data flow has ended, or to end it. `free` has the outlet before anything else goes, so that
    /// nobody waits there.
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
        // Its thread may wait for another's callback, from which this may be called, or that stands still because nobody reads.
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
        // A stream that was just beginning has taken back the end that `free` may have sent, and the mixer would wait for it.
        if isReleased, let outlet, !outlet.hasEnded { outlet.sendEndOfStream() }
        leaving.store(isReleased, ordering: .releasing)
        end()
        segment = Segment.undefined
        hasBegun = false
        ending.store(false, ordering: .releasing)
        chain.withLock { $0.isTakenAway = $0.isReleased }
    }

    /// The stream is over, for whoever hears it.
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
        // What lies outside of the segment isn't mixed either.
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
            // Nor is the end of who leaves.
            guard !isTurning, !leaving.load(ordering: .acquiring) else { break }
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

    private func begin(_ start: StreamStart?) -> SpeakerChannel {
        if let channel, start == nil || channel.streamStart?.id == start?.id { return channel }
        let user = start.flatMap { SpeakerUser(streamID: $0.id) } ?? padUser
        let made = SpeakerChannel(isShared ? .shared : .oneWay(user), start)
        channel = made
        return made
    }
}
