import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `preprocessor`: calls a handler once per frame, which edits the frame in place.
///
/// It is an in-place filter, not appsink → application → appsrc: that detour deadlocks in preroll, adds a thread and a
/// queue, and loses allocation and latency queries. Without a handler, the element is in pass-through and touches no
/// byte.
final class PreprocessorElement: InPlaceTransform, HandlerSwapping, @unchecked Sendable {
    // `@unchecked Sendable`: settings and slot are behind locks. The properties under “Used on the streaming thread”
    // are accessed there, under GStreamer's stream lock, and in `start` and `stop`, while no data flows.

    static let defaultSettings = PreprocessorSettings()
    let settings = SettingsStore(defaultSettings)
    let slot = HandlerSlot<ProcessorHandle>()
    let statistics = NodeStatistics()

    // Used on the streaming thread.
    private var handler: ProcessorHandle? {
        didSet { unretainedHandler = handler.map { Unmanaged.passUnretained($0) } }
    }
    private var policy = PreprocessorSettings.FramePolicy()
    private var stream: Stream? {
        didSet { unretainedStream = stream.map { Unmanaged.passUnretained($0) } }
    }
    /// `handler` and `stream`, reached without reference counting for each frame.
    private var unretainedHandler: Unmanaged<ProcessorHandle>?
    private var unretainedStream: Unmanaged<Stream>?
    /// The handlers that have stopped the element from inside a call, with their streams, which the call still uses.
    private var stoppedInside: [(ProcessorHandle, Stream?)] = []
    private var failures = FailedFrames()
    /// Whether to keep a copy of each frame, because the handler has failed and the next failed frame is to pass unedited.
    private(set) var undoesEdits = false
    /// The number of frames since a handler was set that doesn't support their format; 0 if no handler waits.
    private var framesWaited = 0
    /// The number of waited frames after which a warning is posted. More than may have been in flight when the handler
    /// was set.
    private static let warningThreshold = 30

    /// A class, so that each frame copies a reference, not 400 bytes.
    private final class Stream {
        let info: VideoInfo
        let caps: Caps
        /// Keeps a copy of the incoming frame, for `on-error=pass` after the first failure.
        lazy var backup = FrameBackup(info)
        init(_ info: VideoInfo, _ caps: Caps) {
            self.info = info
            self.caps = caps
        }
    }

    static let log = DebugCategory("preprocessor", "MediaGraph pre-processor")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.preprocessor, typeName: "GstPreprocessor", longName: "Video pre-processor",
            classification: "Filter/Effect/Video",
            summary: "Passes each frame to a handler that edits it in place",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("sink", .sink, caps: "video/x-raw(ANY)"),
                PadTemplate("src", .source, caps: "video/x-raw(ANY)"),
            ],
            properties: handlerProperties + [
                .setting(
                    "on-error", of: Self.self, \.onError, changes: .always,
                    "What happens to a frame whose handler throws"),
                .setting(
                    "max-time", of: Self.self, \.maxTime, changes: .always,
                    "Maximum nanoseconds per frame for the handler; a frame that takes longer is counted as late and reported as a QoS message. 0: no limit"
                ),
                .setting(
                    "on-late", of: Self.self, \.onLate, changes: .always,
                    "What happens to a frame whose handler took longer than max-time"),
                NodeStatistics.property(of: Self.self) { $0.statistics },
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_processor = { NodeVTable.setHandler($0, $1, $2, PreprocessorElement.attach) }
    }

    required init(instance: ElementInstance) {
        super.init(instance: instance)
        NodeVTable.install(Self.vtable.pointer, on: instance)
        setPassthrough(true)
    }

    override func start() -> Bool {
        if !stoppedInside.isEmpty, !isInsideTransform { stoppedInside = [] }
        statistics.reset()
        do throws(MediaGraphError) { handler = try startHandler() } catch {
            postError(.settings, "\(name): \(error)")
            return false
        }
        policy = settings.current.framePolicy
        (failures, undoesEdits) = (FailedFrames(), false)
        framesWaited = 0
        Self.log.log(.info, raw: instance.element, handler.map { "runs handler \($0.name)" } ?? "passes through")
        setPassthrough(handler == nil)
        return true
    }

    override func stop() -> Bool {
        slot.stop()
        if let handler, isInsideTransform {
            stoppedInside.append((handler, stream))
            postError(
                .processing,
                "\(name): handler \(handler.name) has stopped its own element from inside a call; call requestStop() of the graph instead"
            )
        }
        handler = nil
        stream = nil
        return true
    }

    // MARK: Negotiation

    override func transformCaps(_ caps: Caps) -> Caps {
        // An in-place filter has the same caps on both pads. A handler needs memory that the CPU can map, in a format
        // that the handler supports.
        guard let wanted = slot.wanted else { return caps }
        return caps.intersection(wanted.caps)
    }

    override func accepts(_ caps: Caps) -> Bool {
        guard let wanted = slot.wanted else { return true }
        // The old handler stays active until upstream has switched to a format of the new handler.
        if wanted.takes(caps) || handler?.takes(caps) == true { return true }
        postError(
            .notNegotiated, "\(name): handler \(wanted.name) doesn't support the incoming format",
            debug: "upstream produces \(caps); the handler accepts \(wanted.caps), progressive or interleaved")
        return false
    }

    override func setCaps(_ caps: Caps) -> Bool {
        // Also without a handler: one may be set at any time.
        stream = VideoInfo(caps).map { Stream($0, caps) }
        slot.markChanged()
        Self.log.log(.debug, raw: instance.element, "format \(caps)")
        return stream != nil || handler == nil
    }

    /// Hides downstream's demand for smaller frames: the handler gets the frames in full size.
    override func willAnswerAllocation(_ query: AllocationQuery) {
        if slot.wanted != nil { Resolution.removeDemand(from: query) }
    }

    // MARK: Frames

    override func beforeBuffer() {
        if slot.takeChange() { takeOver() }
        if framesWaited > 0 { countWaiting() }
        if handler == nil { statistics.countFrame() }
    }

    override func didDropLate() {
        // In pass-through, `beforeBuffer` has already counted the frame.
        if handler == nil { statistics.frames.wrappingSubtract(1, ordering: .relaxed) }
        statistics.countDrop()
    }

    /// Applies the settings and the handler that were set since the last frame.
    private func takeOver() {
        policy = settings.current.framePolicy
        undoesEdits = undoesEdits && policy.onError == .pass
        let wanted = slot.wanted
        guard wanted !== handler else { return }
        if let wanted {
            guard let stream, wanted.takes(stream.caps) else {
                framesWaited = max(framesWaited, 1)
                Self.log.log(.info, raw: instance.element, "handler \(wanted.name) waits for a format that it supports")
                return
            }
        }
        handler = wanted
        (failures, undoesEdits) = (FailedFrames(), false)
        framesWaited = 0
        setPassthrough(wanted == nil)
        Self.log.log(
            .info, raw: instance.element, wanted.map { "handler \($0.name) takes over" } ?? "passes through from now on"
        )
    }

    /// Counts the frames that a new handler waits for a format that upstream offered, and posts a warning if it waits
    /// too long.
    private func countWaiting() {
        framesWaited += 1
        guard framesWaited == Self.warningThreshold, let wanted = slot.wanted, let stream else { return }
        postWarning(
            .notNegotiated,
            "\(name): handler \(wanted.name) isn't active yet: upstream hasn't switched to a format that the handler supports; put videoconvert before \(name)",
            debug: "upstream produces \(stream.caps); the handler accepts \(wanted.caps)")
    }

    override func transformInPlace(_ buffer: BufferAccess) -> FlowReturn {
        guard let unretainedHandler, let unretainedStream else { return .ok }
        return unretainedHandler._withUnsafeGuaranteedRef { handler in
            unretainedStream._withUnsafeGuaranteedRef { stream in transform(buffer, handler, stream) }
        }
    }

    @inline(__always)
    private func transform(_ buffer: BufferAccess, _ handler: ProcessorHandle, _ stream: Stream) -> FlowReturn {
        let began = monotonicNanoseconds()
        do {
            let verdict = try buffer.withVideoFrame(stream.info, .readWrite) { mapped in
                try process(&mapped, of: buffer, handler, stream)
            }
            let elapsed = monotonicNanoseconds() - began
            statistics.handlerNanoseconds.wrappingAdd(elapsed, ordering: .relaxed)
            guard let verdict else {
                postError(
                    .wrongFormat, "\(name): a frame can't be mapped",
                    debug: "\(stream.caps) needs \(stream.info.size) bytes, the buffer has \(buffer.size)")
                return .error
            }
            return finish(buffer, verdict, after: elapsed, handler)
        } catch {
            statistics.handlerNanoseconds.wrappingAdd(monotonicNanoseconds() - began, ordering: .relaxed)
            return fail(.wrapping(error, handler.name), handler)
        }
    }

    @inline(__always)
    private func process(
        _ mapped: inout MappedVideoFrame, of buffer: BufferAccess, _ handler: ProcessorHandle, _ stream: Stream
    ) throws(MediaGraphError) -> Verdict {
        let backup = undoesEdits ? stream.backup : nil
        backup?.save(mapped)
        var frame = MGVideoFrame(
            mapped, in: buffer, stream.caps, of: buffer, FrameMetas(of: buffer, tagged),
            runningTime: runningTime(of: buffer.presentationTimestamp), segment: segment)
        do throws(MediaGraphError) { return try handler.process(&frame) } catch {
            backup?.restore(&mapped)
            throw error
        }
    }

    @inline(__always)
    private func finish(
        _ buffer: BufferAccess, _ verdict: Verdict, after elapsed: UInt64, _ handler: ProcessorHandle
    ) -> FlowReturn {
        let isLate = elapsed > policy.maxTime
        switch verdict {
        case .pass where !isLate:
            statistics.countFrame()
            return .ok
        case .pass:
            let isDropped = policy.onLate == .drop
            if isDropped { statistics.countDrop() } else { statistics.countFrame() }
            tellLate(buffer, elapsed, isDropped: isDropped, handler)
            return isDropped ? .dropped : .ok
        case .drop:
            statistics.countDrop()
            Self.log.log(.debug, raw: instance.element, "handler \(handler.name) dropped a frame")
            if isLate { tellLate(buffer, elapsed, isDropped: true, handler) }
            return .dropped
        case .fail(let reason):
            postError(.processing, "\(name): handler \(handler.name) ended the stream: \(reason)")
            return .error
        }
    }

    private func tellLate(_ buffer: BufferAccess, _ elapsed: UInt64, isDropped: Bool, _ handler: ProcessorHandle) {
        statistics.late.wrappingAdd(1, ordering: .relaxed)
        Self.log.log(
            .debug, raw: instance.element,
            "handler \(handler.name) took \(elapsed) ns, max-time is \(policy.maxTime) ns")
        postLateness(
            of: buffer, by: .nanoseconds(elapsed - policy.maxTime), isDropped: isDropped,
            processed: statistics.frames.load(ordering: .relaxed), dropped: statistics.dropped.load(ordering: .relaxed))
    }

    private func fail(_ error: MediaGraphError, _ handler: ProcessorHandle) -> FlowReturn {
        failures.add(
            error, of: .init(handler: "handler \(handler.name)", stream: currentStream?.owner), policy.onError,
            statistics,
            element, Self.log)
        undoesEdits = policy.onError == .pass
        if policy.onError == .detach { detach(handler) }
        return policy.onError.settle(statistics)
    }
}

extension PreprocessorElement: NodeTraits {
    /// Returns the caps of the handler's formats, or of all formats that nodes carry if the handler supports any
    /// format.
    static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps? {
        handler(of: element).map { FrameCaps.of(formats: $0.formats) }
    }

    static func formatHandler(of element: ParsedElement) -> String? { handler(of: element)?.name }

    private static func handler(of element: ParsedElement) -> HandlerRegistry.Entry? {
        element.value(of: "handler").flatMap { name in
            HandlerRegistry.shared.handlers(.processor).first { $0.name == name }
        }
    }
}
