import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// The part of a speaker that mixes all users' streams into one.
///
/// ```
/// user ─┐
/// user ─┼─▶ audiomixer ─▶ F32 ─▶ audioconvert ─▶ S16 ─▶ tee ─┬─▶ src
/// user ─┘                                                  └─▶ (fakesink, if there is no src)
/// ```
/// The mixer works in F32. In S16, audiomixer clips after adding each user. In F32, sums of 16-bit samples are exact,
/// and the conversion at the end, without dither, clips the sum once.
final class SpeakerMix: Sendable {
    let mixer: Element
    private let mixed: Element
    private let delivered: Element
    private let tee: Element
    private let end: SpeakerEnd
    /// Pads of the mixer that no user's stream feeds.
    private struct Abandoned {
        let format: Caps
        /// A pad that keeps a live mix running when all users have left.
        var keeper: Pad?
        /// Pads of users who have left, whose last sound is still to be mixed.
        var draining: [Pad] = []
    }
    /// `nil` outside a run.
    private let abandoned = Mutex<Abandoned?>(nil)

    init(in bin: ElementInstance) {
        func make(_ factory: String, _ properties: [(String, String)] = [], _ made: Element? = nil) -> Element {
            guard let element = made ?? Element(factory: factory) else {
                preconditionFailure("the element \(factory) is missing: install gstreamer1.0-plugins-base")
            }
            for (name, value) in properties { element.configure(name, parsing: value) }
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
        end.link(to: tee)
    }

    /// The pad for the tap. The mix passes it before it is delivered and leaves through `src`.
    var tapPad: Pad { tee.staticPad("sink")! }

    // MARK: The run

    func start(_ format: AudioInfo, _ settings: SpeakerSettings) {
        abandoned.withLock { $0 = Abandoned(format: format.caps) }
        mixer.configure("latency", to: settings.latency)
        mixer.configure("min-upstream-latency", to: settings.minUpstreamLatency)
        let rest = "rate=\(format.rate), channels=\(format.channels), layout=interleaved"
        mixed.configure("caps", parsing: "audio/x-raw, format=\(AudioFormat.f32.gstreamerName), \(rest)")
        delivered.configure("caps", parsing: "audio/x-raw, format=\(AudioFormat.s16.gstreamerName), \(rest)")
        mixer.configure("start-time-selection", parsing: "zero")
    }

    /// Makes the mix begin at the first buffer's time. Call it before the first buffer of a live mix. If the mix began
    /// at zero, the mixer would first produce all the silence before that buffer.
    func becomeLive() { mixer.configure("start-time-selection", parsing: "first") }

    func stop() {
        // The remaining sound won't be mixed. In the next run the mixer would wait for these pads, because no stream
        // feeds them.
        guard let abandoned = abandoned.withLock({ $0.take() }) else { return }
        for pad in abandoned.draining { mixer.releasePad(pad) }
        if let keeper = abandoned.keeper { mixer.releasePad(keeper) }
    }

    // MARK: Users

    func requestPad() -> Pad? {
        guard let pad = mixer.requestPad("sink_%u") else { return nil }
        pad.set("qos-messages", to: true)
        // The mixer holds early sound back for as long as the slowest stream takes.
        pad.allowAnyInputLatency()
        return pad
    }

    func release(_ pad: Pad) { mixer.releasePad(pad) }

    /// Sends EOS to the pad of a user who leaves while others stay. Once its sound has been mixed, the pad is released
    /// together with the next pad that drains, or at a seek or stop. Releases the pad at once if the user's streaming
    /// thread is waiting in the mixer, because that wait may not end.
    func drain(_ pad: Pad) {
        guard pad.hasEnded || pad.trySendEndOfStream() else { return mixer.releasePad(pad) }
        releaseAfterMixing(pad)
    }

    /// Takes a pad that has received EOS, and releases it later, once its sound has been mixed.
    func releaseAfterMixing(_ pad: Pad) {
        guard pad.hasEnded, abandoned.withLock({ $0?.draining.append(pad) }) != nil else {
            return mixer.releasePad(pad)
        }
        release(where: \.isAggregatorInputAtEnd)
    }

    /// Releases the pads of users who have left, even if their last sound isn't mixed yet. Call it before a seek's
    /// flush reaches the mixer: the mixer flushes when all its pads have flushed, and no stream flushes these pads.
    func releaseDraining() { release { _ in true } }

    /// Releases the draining pads for which `predicate` is true.
    private func release(where predicate: (Pad) -> Bool) {
        let released = abandoned.withLock { abandoned in
            let released = abandoned?.draining.filter(predicate) ?? []
            abandoned?.draining.removeAll { released.contains($0) }
            return released
        }
        for pad in released { mixer.releasePad(pad) }
    }

    /// Adds a silent, live pad that never ends. Call it when a user's stream leaves or ends in a live mix: audiomixer
    /// 1.22 ends when all remaining pads have ended, and stalls when no pad is live.
    func keepGoing() {
        abandoned.withLock { abandoned in
            guard let format = abandoned?.format, abandoned?.keeper == nil, let now = mixer.currentRunningTime,
                let pad = mixer.requestPad("sink_%u")
            else { return }
            pad.startSilentStream("virtualspeaker/keeper", format, at: now, duration: .milliseconds(10))
            abandoned?.keeper = pad
        }
    }

    /// Ends the silent pad, so that the mix ends. Call it when all users' streams have ended.
    func endKeeper() { _ = abandoned.withLock { $0?.keeper?.sendEndOfStream() } }

    /// Ends a mix that has no users and will get none.
    func endWithoutUsers() { mixed.staticPad("sink")?.sendEndOfStream() }

    // MARK: The pad `src`

    func requestSource(in bin: BinElement) -> GhostPad? {
        guard let outlet = tee.requestTeeOutlet() else { return nil }
        end.unlink(from: tee, in: bin)
        return bin.addGhostPad("src", target: outlet)
    }

    func releaseSource(_ pad: GhostPad, in bin: BinElement) {
        // A bin that is being disposed of has removed its children before its pads.
        guard tee.parent != nil else { return bin.remove(pad) }
        end.add(to: bin.instance)
        end.link(to: tee)
        if bin.isRunning { bin.removeWhileRunning(pad) } else { bin.remove(pad) }
    }

    /// Sets whether the change to PAUSED waits for a first block. Call it before that change.
    func setPrerolls(_ on: Bool) { end.setPrerolls(on) }

    /// Makes the change to PAUSED wait for a first block. Call it in PAUSED.
    func beginPreroll() { end.beginPreroll() }
}

/// Edits the mix and delivers it to the handler.
///
/// `@unchecked Sendable`: only the mix's streaming thread uses the variables, or the state change while no data flows.
/// A lock guards `flushed`.
final class SpeakerMixTap: PadTap, @unchecked Sendable {
    let editor = HandlerSlot<AudioProcessorHandle>()
    private let delivery: SpeakerDelivery
    private let ended: @Sendable () -> Void
    private var current: AudioProcessorHandle?
    private var channel = SpeakerChannel(.mixed, nil) { didSet { flushed.withLock { $0 = channel } } }
    /// A copy of `channel` for flushes, which come on any thread, concurrently with the streaming thread.
    private let flushed = Mutex<SpeakerChannel?>(nil)
    private var segment = Segment.undefined
    private var failures = FailedFrames()

    /// `ended` runs on the streaming thread when the mix ends.
    init(_ delivery: SpeakerDelivery, ended: @escaping @Sendable () -> Void) {
        self.delivery = delivery
        self.ended = ended
    }

    func start() {
        failures = FailedFrames()
        editor.reattach()
    }

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        // The mix of several streams has no stream time.
        let times = AudioTimes(running: segment.runningTime(of: buffer.access.presentationTimestamp), stream: nil)
        if editor.takeChange() { takeOver() }
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

    private func takeOver() {
        let wanted = editor.wanted
        if wanted !== current { failures = FailedFrames() }
        current = wanted
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
                // The editor may have turned silence into sound.
                access.isGap = false
            case .drop: silence(access)
            case .fail(let reason):
                return fail(.processingFailed(.init(reason)), editor, .stop, access)
            case nil:
                // Not the editor's failure.
                let error = MediaGraphError.processingFailed(
                    .init("audio", actual: "its buffer can't be mapped for writing"))
                return fail(error, editor, delivery.failurePolicy == .detach ? .pass : delivery.failurePolicy, access)
            }
            return .ok
        } catch {
            return fail(.wrapping(error, editor.name), editor, delivery.failurePolicy, access)
        }
    }

    /// Replaces a dropped block with silence, because the mix goes on.
    private func silence(_ block: BufferAccess) {
        block.fill(with: 0)
        block.isGap = true
        delivery.statistics.countDrop()
    }

    /// Applies `on-error`.
    private func fail(
        _ error: MediaGraphError, _ editor: AudioProcessorHandle, _ policy: FailurePolicy, _ block: BufferAccess
    ) -> FlowReturn {
        guard let element = delivery.owner.element else { return .error }
        failures.add(
            error, of: .init(handler: "editor \(editor.name)", stream: SpeakerStream.mixed.subject, media: "block"),
            policy, delivery.statistics, element, VirtualSpeakerElement.log)
        switch policy {
        case .stop: return .error
        case .pass: block.isGap = false
        case .drop: silence(block)
        case .detach:
            block.isGap = false
            self.editor.detach(editor)
        }
        return .ok
    }
}
