import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `frameobserver`: shows each frame to an observer, in the observer's preferred format, and with `mode=read-write`
/// lets the observer edit the frame.
///
/// It is an in-place filter rather than a bin with converters, so that the observer can change its preference between
/// two frames without renegotiation. It is in pass-through unless the observer edits.
final class FrameObserverElement: InPlaceTransform, HandlerSwapping, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: settings and slot are behind locks. The properties under “Used on the streaming thread”
    // are accessed there, under GStreamer's stream lock, and in `start` and `stop`, while no data flows.

    static let defaultSettings = FrameObserverSettings()
    let settings = SettingsStore(defaultSettings)
    let slot = HandlerSlot<ObserverHandle>()
    private let statistics = NodeStatistics()
    let onError = Atomic<Int32>(FailurePolicy.stop.rawValue)

    // Used on the streaming thread.
    private var observer: ObserverHandle?
    private var caps: Caps?
    private var stream: StreamStart?
    private var plan: ObserverPlan?
    private var failures = FailedFrames()
    /// Whether to keep a copy of each frame, because the observer has failed and the next failed frame is to pass
    /// unedited.
    private var undoesEdits = false
    /// Whether the observer itself threw, and not the conversion of a frame for it.
    private var hasThrown = false

    static let log = DebugCategory("frameobserver", "MediaGraph frame observer")

    static let preferenceMessage = "mediagraph-frame-preference"

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.frameObserver, typeName: "GstFrameObserver", longName: "Video frame observer",
            classification: "Filter/Analyzer/Video",
            summary: "Shows each frame to an observer, in its preferred format; the observer reads or edits the frame",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("sink", .sink, caps: "video/x-raw(ANY)"),
                PadTemplate("src", .source, caps: "video/x-raw(ANY)"),
            ],
            properties: handlerProperties + [
                .setting(
                    "position", of: Self.self, \.position,
                    "Position of the observer in the call; reported in the element's messages"),
                .setting("mode", of: Self.self, \.mode, "Whether the observer may write to the frames"),
                .setting(
                    "on-error", of: Self.self, \.onError, changes: .always,
                    "What happens to a frame that can't be shown, or whose handler throws"),
                NodeStatistics.property(of: Self.self) { $0.statistics },
            ],
            messages: [
                MessageDeclaration(
                    preferenceMessage, "The observer was asked for its preferred format",
                    fields: [
                        ("position", "string", "the value of the position property"),
                        ("format", "string", "the format's name in caps"),
                        ("rotation-applied", "boolean", "frames are turned upright for the observer"),
                        ("mirror-applied", "boolean", "frames are mirrored for the observer"),
                    ])
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    override class var transformsOnPassthrough: Bool { true }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_observer = { NodeVTable.setHandler($0, $1, $2, FrameObserverElement.attach) }
        vtable.observer_changed = { element in
            let slot = ElementClass.implementation(of: element!, as: FrameObserverElement.self).slot
            slot.wanted?.markPreferenceOutdated()
            slot.markChanged()
        }
    }

    required init(instance: ElementInstance) {
        super.init(instance: instance)
        NodeVTable.install(Self.vtable.pointer, on: instance)
        setPassthrough(true)
    }

    override func start() -> Bool {
        statistics.reset()
        do throws(MediaGraphError) {
            observer = try startHandler()
            if let observer { try check(observer.mode, of: observer.name) }
        } catch {
            postError(.settings, "\(name): \(error)")
            return false
        }
        (failures, undoesEdits) = (FailedFrames(), false)
        Self.log.log(
            .info, raw: instance.element,
            observer.map { "observer \($0.name) at \(settings.current.position.nick), \($0.mode.nick)" }
                ?? "passes through")
        setPassthrough(observer?.mode != .readWrite)
        return true
    }

    override func stop() -> Bool {
        slot.stop()
        observer = nil
        plan = nil
        (caps, stream) = (nil, nil)
        return true
    }

    // MARK: Negotiation

    /// The caps that can be converted to an observer's preferred format.
    static let readableCaps = Caps.anyRawVideo.constant

    static func takes(_ caps: Caps) -> Bool { caps.areFrames(in: readableCaps) }

    override func transformCaps(_ caps: Caps) -> Caps {
        slot.wanted == nil ? caps : caps.intersection(Self.readableCaps)
    }

    override func accepts(_ caps: Caps) -> Bool {
        guard let wanted = slot.wanted, !Self.takes(caps) else { return true }
        postError(
            .notNegotiated, "\(name): the incoming format can't be converted for observer \(wanted.name)",
            debug:
                "upstream produces \(caps); the observer can be shown \(Self.readableCaps), progressive or interleaved")
        return false
    }

    override func setCaps(_ caps: Caps) -> Bool {
        self.caps = caps
        stream = currentStream
        // Keeps the preference, which only the observer changes.
        plan = nil
        return true
    }

    /// Hides downstream's demand for smaller frames: the observer sees the frames in full size.
    override func willAnswerAllocation(_ query: AllocationQuery) {
        if slot.wanted != nil { Resolution.removeDemand(from: query) }
    }

    // MARK: Frames

    override func beforeBuffer() { if slot.takeChange() { takeOver() } }

    override func didDropLate() { statistics.countDrop() }

    /// Switches to an observer that was set since the last frame, or to the current observer's new preference.
    private func takeOver() {
        let wanted = slot.wanted
        if wanted !== observer { (failures, undoesEdits) = (FailedFrames(), false) }
        observer = wanted
        observer?.discardOutdatedPreference()
        plan = nil
        setPassthrough(observer?.mode != .readWrite)
    }

    private func makePlan(_ observer: ObserverHandle, _ caps: Caps) throws(MediaGraphError) -> ObserverPlan {
        let (preference, isNew) = try observer.preference()
        let plan = try ObserverPlan(caps, preference, edits: observer.mode == .readWrite)
        self.plan = plan
        if isNew { tell(preference, of: observer) }
        return plan
    }

    private func tell(_ preference: FramePreference, of observer: ObserverHandle) {
        Self.log.log(
            .info, raw: instance.element,
            "observer \(observer.name) prefers \(preference.format.gstreamerName)"
                + (preference.appliesRotation ? ", turned upright" : "")
                + (preference.appliesMirror ? ", mirrored" : ""))
        post(
            Structure(
                Self.preferenceMessage,
                [
                    ("position", settings.current.position.nick), ("format", preference.format.gstreamerName),
                    ("rotation-applied", preference.appliesRotation), ("mirror-applied", preference.appliesMirror),
                ]))
    }

    override func transformInPlace(_ buffer: BufferAccess) -> FlowReturn {
        guard let observer, let caps else {
            statistics.countFrame()
            return .ok
        }
        do throws(MediaGraphError) {
            let plan = if let plan { plan } else { try makePlan(observer, caps) }
            switch try show(buffer, to: observer, plan) {
            case .pass:
                statistics.countFrame()
                return .ok
            case .drop:
                statistics.countDrop()
                return .dropped
            case .fail(let reason):
                postError(.processing, "\(name): observer \(observer.name) ended the stream: \(reason)")
                return .error
            }
        } catch {
            return fail(error, observer)
        }
    }

    private func fail(_ error: MediaGraphError, _ observer: ObserverHandle) -> FlowReturn {
        var policy = FailurePolicy(rawValue: onError.load(ordering: .relaxed)) ?? .stop
        // A frame that can't be shown isn't the observer's failure.
        let isObservers = hasThrown
        if policy == .detach, !isObservers { policy = .pass }
        hasThrown = false
        failures.add(
            error,
            of: .init(handler: "observer \(observer.name)", hasThrown: isObservers, stream: currentStream?.owner),
            policy, statistics,
            element, Self.log)
        undoesEdits = policy == .pass && isObservers
        if policy == .detach { detach(observer) }
        return policy.settle(statistics)
    }

    @inline(__always)
    private func show(
        _ buffer: BufferAccess, to observer: ObserverHandle, _ plan: ObserverPlan
    ) throws(MediaGraphError) -> Verdict {
        var metas = FrameMetas(of: buffer, tagged)
        let direction = plan.direction(metas.orientation)
        guard !plan.isDirect(direction) else {
            // Undoes what an observer wrote before it threw.
            let backup = observer.mode == .readWrite && undoesEdits ? plan.backup : nil
            return try show(buffer, plan.info, plan.caps, of: buffer, metas, to: observer, backup)
        }
        let copy = try plan.copy(buffer, direction)
        let (info, caps) = plan.copied
        if plan.preference.appliesRotation {
            metas.mirror = metas.mirror.turned(by: metas.orientation)
            metas.orientation = .upright
        }
        let verdict = try show(copy.access, info, caps, of: buffer, metas, to: observer)
        if verdict == .pass, observer.mode == .readWrite { try plan.write(copy, direction, over: buffer) }
        return verdict
    }

    /// Shows one buffer: the stream's own or a converted copy.
    @inline(__always)
    private func show(
        _ shown: BufferAccess, _ info: VideoInfo, _ caps: Caps, of buffer: BufferAccess, _ metas: FrameMetas,
        to observer: ObserverHandle, _ backup: FrameBackup? = nil
    ) throws(MediaGraphError) -> Verdict {
        let began = monotonicNanoseconds()
        defer { statistics.handlerNanoseconds.wrappingAdd(monotonicNanoseconds() - began, ordering: .relaxed) }
        let verdict: Verdict?
        do {
            verdict = try shown.withVideoFrame(info, observer.mode == .readWrite ? .readWrite : .read) { mapped in
                var frame = MGVideoFrame(
                    mapped, in: shown, caps, of: buffer, metas,
                    runningTime: runningTime(of: buffer.presentationTimestamp), segment: segment, stream: stream)
                backup?.save(mapped)
                do { return try observer.see(&frame) } catch {
                    backup?.restore(&mapped)
                    hasThrown = true
                    throw error
                }
            }
        } catch { throw .wrapping(error, observer.name) }
        guard let verdict else {
            throw .processingFailed(
                .init("frame", actual: "can't be mapped: it needs \(info.size) bytes, but the buffer has \(shown.size)")
            )
        }
        return verdict
    }
}

/// The properties of `frameobserver`.
struct FrameObserverSettings: HandlerSettings {
    var handler = ""
    var options = ""
    var position = FramePosition.postCapture
    var mode = ObserverMode.readOnly
    var onError = FailurePolicy.stop
}
