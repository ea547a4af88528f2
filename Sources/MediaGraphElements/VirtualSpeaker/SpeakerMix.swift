import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// What makes one stream of all users.
///
/// ```
/// user ─┐
/// user ─┼─▶ audiomixer ─▶ F32 ─▶ audioconvert ─▶ S16 ─▶ tee ─┬─▶ src
/// user ─┘                                                  └─▶ (fakesink, where there is no src)
/// ```
/// In S16 audiomixer clips after each user that it adds; in F32, where sums of 16-bit samples are exact, it doesn't, and one
/// conversion without dither at the end clips the sum.
final class SpeakerMix: Sendable {
    let mixer: Element
    private let mixed: Element
    private let delivered: Element
    private let tee: Element
    private let end: SpeakerEnd
    /// Pads of the mixer's behind which is nobody any more.
    private struct Abandoned {
        let format: Caps
        /// Keeps a live mix going when everybody has left.
        var keeper: Pad?
        /// Of users who have left: what they said last is still to be mixed.
        var draining: [Pad] = []
    }
    /// `nil` outside a run, which has to begin without any.
    private let abandoned = Mutex<Abandoned?>(nil)

    init(in bin: ElementInstance) {
        func make(_ factory: String, _ properties: [(String, String)] = [], _ made: Element? = nil) -> Element {
            guard let element = made ?? Element(factory: factory) else {
                preconditionFailure("the element \(factory) is missing: install gstreamer1.0-plugins-base")
            }
            for (name, value) in properties { try? element.setProperty(name, parsing: value) }
            bin.add(element)
            return element
        }
        mixer = make("audiomixer", [("ignore-inactive-pads", "true")], .audioMixer())
        mixed = make("capsfilter")
        let converter = make("audioconvert", SpeakerInput.exactConversion)
        delivered = make("capsfilter")
        tee = make("tee", [("allow-not-linked", "true")])
        for (from, to) in [(mixer, mixed), (mixed, converter), (converter, delivered), (delivered, tee)] {
            _ = from.link(to: to)
        }
        end = SpeakerEnd(in: bin)
        end.take(tee)
    }

    /// Where the tap sits: what passes here is what is handed over and what leaves `src`.
    var tapPad: Pad { tee.staticPad("sink")! }

    // MARK: The run

    func start(_ format: AudioInfo, _ settings: SpeakerSettings) {
        abandoned.withLock { $0 = Abandoned(format: format.caps) }
        try? mixer.setProperty("latency", to: settings.latency)
        try? mixer.setProperty("min-upstream-latency", to: settings.minUpstreamLatency)
        let rest = "rate=\(format.rate), channels=\(format.channels), layout=interleaved"
        try? mixed.setProperty("caps", parsing: "audio/x-raw, format=\(AudioFormat.f32.gstreamerName), \(rest)")
        try? delivered.setProperty("caps", parsing: "audio/x-raw, format=\(AudioFormat.s16.gstreamerName), \(rest)")
        try? mixer.setProperty("start-time-selection", parsing: "zero")
    }

    /// Before the first buffer. A live mix begins when the first is heard; from zero it would first make up for all the
    /// silence before.
    func becomeLive() { try? mixer.setProperty("start-time-selection", parsing: "first") }

    func stop() {
        // What wasn't mixed never will be, and a pad that nobody feeds would hold up the next run.
        guard let abandoned = abandoned.withLock({ $0.take() }) else { return }
        for pad in abandoned.draining { mixer.releasePad(pad) }
        if let keeper = abandoned.keeper { mixer.releasePad(keeper) }
    }

    // MARK: Users

    func requestPad() -> Pad? {
        guard let pad = mixer.requestPad("sink_%u") else { return nil }
        pad.set("qos-messages", to: true)
        // The mixer keeps what comes before its time, for as long as the slowest stream takes.
        pad.toleratesLatency()
        return pad
    }

    func release(_ pad: Pad) { mixer.releasePad(pad) }

    /// Somebody leaves while the others go on: what he has said is mixed first. Where his stream waits in the mixer it can't
    /// be waited for.
    func drain(_ pad: Pad) {
        guard pad.hasEnded || pad.trySendEndOfStream() else { return mixer.releasePad(pad) }
        letDrain(pad)
    }

    /// The end of what somebody has said is on its pad.
    func letDrain(_ pad: Pad) {
        guard pad.hasEnded, abandoned.withLock({ $0?.draining.append(pad) }) != nil else {
            return mixer.releasePad(pad)
        }
        release(where: \.isUsedUp)
    }

    /// What leavers have said isn't waited for any more. Before a seek's flush comes to the mixer, which flushes when all its pads
    /// do; theirs nobody feeds.
    func releaseDraining() { release { _ in true } }

    /// Lets go of those of the leavers' pads.
    private func release(where isMeant: (Pad) -> Bool) {
        let released = abandoned.withLock { abandoned in
            let released = abandoned?.draining.filter(isMeant) ?? []
            abandoned?.draining.removeAll { released.contains($0) }
            return released
        }
        for pad in released { mixer.releasePad(pad) }
    }

    /// Somebody leaves a live mix. audiomixer 1.22 ends when no pad is left that may bring more, and stands still when none is live;
    /// this one is, and may for ever.
    func keepGoing() {
        abandoned.withLock { abandoned in
            guard let format = abandoned?.format, abandoned?.keeper == nil, let now = mixer.currentRunningTime,
                let pad = mixer.requestPad("sink_%u")
            else { return }
            pad.beginSilence("virtualspeaker/keeper", format, at: now, duration: .milliseconds(10))
            abandoned?.keeper = pad
        }
    }

    /// The last has ended.
    func letEnd() { _ = abandoned.withLock { $0?.keeper?.sendEndOfStream() } }

    /// Nobody ever came, and nobody will.
    func endUnheard() { mixed.staticPad("sink")?.sendEndOfStream() }

    // MARK: The pad `src`

    func requestSource(in bin: BinElement) -> GhostPad? {
        guard let outlet = tee.requestTeeOutlet() else { return nil }
        end.give(up: tee, in: bin)
        return bin.addGhostPad("src", target: outlet)
    }

    func releaseSource(_ pad: GhostPad, in bin: BinElement) {
        // A bin that goes has let go of its children before its pads.
        guard tee.parent != nil else { return bin.remove(pad) }
        end.add(to: bin.instance)
        end.take(tee)
        if bin.isRunning { bin.removeWhileRunning(pad) } else { bin.remove(pad) }
    }

    /// Whether PAUSED waits for a first block.
    func setPrerolls(_ on: Bool) { end.setPrerolls(on) }

    /// PAUSED, which has been reached, waits for a first block after all.
    func beginPreroll() { end.beginPreroll() }
}

/// Edits and hands over the mix.
///
/// `@unchecked Sendable`: what isn't constant belongs to the mix's streaming thread, or to the change of state while no data
/// flows.
final class SpeakerMixTap: PadTap, @unchecked Sendable {
    let editor = HandlerSlot<AudioProcessorHandle>()
    private let delivery: SpeakerDelivery
    private let ended: @Sendable () -> Void
    private var current: AudioProcessorHandle?
    private var channel = SpeakerChannel(.mixed, nil) { didSet { flushed.withLock { $0 = channel } } }
    /// The same for a flush, which comes on any thread, while the streaming thread is at work.
    private let flushed = Mutex<SpeakerChannel?>(nil)
    private var segment = Segment.undefined

    /// `ended` runs on the streaming thread.
    init(_ delivery: SpeakerDelivery, ended: @escaping @Sendable () -> Void) {
        self.delivery = delivery
        self.ended = ended
    }

    func start() { editor.markChanged() }

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        // A mix of several streams is at no position of any.
        let times = AudioTimes(running: segment.runningTime(of: buffer.access.presentationTimestamp), stream: nil)
        if editor.takeChange() { current = editor.wanted }
        if let current {
            let result = edit(&buffer, current, times)
            guard result == .ok else { return result }
        }
        return delivery.receive(buffer.access, of: channel, times: times)
    }

    override func received(_ event: Event) -> Bool {
        switch event {
        case .streamStart(let start): channel = SpeakerChannel(.mixed, start)
        case .segment(let segment): self.segment = segment
        case .endOfStream: ended()
        case .flushStart: delivery.flushStarted(ObjectIdentifier(self), flushed.withLock { $0 })
        case .flushStop:
            delivery.release(for: ObjectIdentifier(self))
            delivery.reopen()
        case .caps, .orientation, .custom: break
        }
        return true
    }

    private func edit(
        _ buffer: inout PassingBuffer, _ editor: AudioProcessorHandle, _ times: AudioTimes
    ) -> FlowReturn {
        guard let format = delivery.format else { return .flushing }
        buffer.makeWritable()
        let access = buffer.access
        do {
            let verdict = try access.withAudioBuffer(format.info, .readWrite) { mapped in
                var frame = MGAudioFrame(
                    mapped, in: access, format.caps, times: times, streamStart: channel.streamStart,
                    isEdited: true)
                return try editor.process(&frame)
            }
            switch verdict {
            case .pass:
                // What was silence may not be any more.
                access.isGap = false
            case .drop:
                access.fill(with: 0)
                access.isGap = true
                delivery.statistics.countDrop()
            case .fail(let reason):
                throw MediaGraphError.processingFailed(.init(reason))
            case nil: throw MediaGraphError.processingFailed(.init("audio", actual: "memory that can't be written"))
            }
            return .ok
        } catch {
            delivery.owner.postError(.processing, "\(delivery.owner.name): editor \(editor.name): \(error)")
            return .error
        }
    }
}
