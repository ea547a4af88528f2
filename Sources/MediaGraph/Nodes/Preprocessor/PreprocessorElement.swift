import CGStreamer
import CMediaGraphABI
import GStreamer
import Synchronization

/// `preprocessor`: calls a handler once for each frame, in place, before the frame goes out.
///
/// An in-place filter, not appsink → application → appsrc: that hop deadlocks in preroll, adds a thread and a queue, and
/// loses allocation and latency queries. Without a handler it is a pass-through that touches no byte.
final class PreprocessorElement: InPlaceTransform, ConfigurableElement, @unchecked Sendable {
    // `@unchecked Sendable`: settings and state are behind locks; `stream` is touched by the streaming thread only.

    struct Settings: Sendable {
        var handler = ""
        var options = ""
    }

    static let defaultSettings = Settings()
    let settings = SettingsStore(defaultSettings)

    private struct State {
        /// From Swift: stays for the next run too.
        var attached: ProcessorHandle?
        /// From `handler=`: made anew for each run.
        var named: ProcessorHandle?
        var current: ProcessorHandle? { attached ?? named }
    }

    private let state = Mutex(State())
    private let statistics = NodeStatistics()
    /// The stream's format, set with the caps and read for each frame: both under GStreamer's stream lock.
    private var stream: Stream?

    /// A class, so that a frame takes a reference and not a copy of 400 bytes.
    private final class Stream {
        let info: VideoInfo
        let caps: Caps
        init(_ info: VideoInfo, _ caps: Caps) {
            self.info = info
            self.caps = caps
        }
    }

    static let log = DebugCategory("preprocessor", "MediaGraph pre-processor")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: "preprocessor", typeName: "GstPreprocessor", longName: "Video pre-processor",
            classification: "Filter/Effect/Video",
            summary: "Hands each frame to a handler that edits it in place before it goes out",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("sink", .sink, caps: "video/x-raw(ANY)"),
                PadTemplate("src", .source, caps: "video/x-raw(ANY)"),
            ],
            properties: [
                .setting("handler", of: Self.self, \.handler, NodeDefinition.handlerBlurb),
                .setting("options", of: Self.self, \.options, NodeDefinition.optionsBlurb),
                NodeStatistics.property(of: Self.self) { $0.statistics },
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    private static let door = NodeDoor.make(processor: { element, processor, _ in
        let node = ElementClass.implementation(of: element!, as: PreprocessorElement.self)
        node.attach(ProcessorHandle(processor!.pointee))
        return 1
    })

    required init(instance: ElementInstance) {
        super.init(instance: instance)
        NodeDoor.install(Self.door.pointer, on: instance)
        setPassthrough(true)
    }

    private func attach(_ handle: ProcessorHandle) {
        state.withLock { $0.attached = handle }
        Self.log.log(.info, raw: instance.element, "handler \(handle.name) attached")
        setPassthrough(false)
        renegotiate()
    }

    override func start() -> Bool {
        statistics.reset()
        let settings = settings.current
        if !settings.handler.isEmpty {
            do {
                let handle = try HandlerRegistry.shared.makeProcessor(settings.handler, options: settings.options)
                state.withLock { $0.named = handle }
            } catch {
                postError(.settings, "\(name): \(error)")
                return false
            }
        }
        let handler = state.withLock { $0.current }
        Self.log.log(.info, raw: instance.element, handler.map { "runs handler \($0.name)" } ?? "passes through")
        setPassthrough(handler == nil)
        return true
    }

    override func stop() -> Bool {
        state.withLock { $0.named = nil }
        stream = nil
        return true
    }

    /// What the handler takes; everything when there is none.
    private var accepted: Caps? {
        state.withLock { $0.current }.map { NodeDefinition.caps(formats: $0.formats) }
    }

    override func transformCaps(_ caps: Caps) -> Caps {
        // In place, so both sides have the same caps; a handler needs memory that it can read, in a format it knows.
        guard let accepted else { return caps }
        return caps.intersection(accepted)
    }

    override func accepts(_ caps: Caps) -> Bool {
        guard let accepted else { return true }
        if caps.isSubset(of: accepted), let info = VideoInfo(caps), !info.isFieldPerBuffer { return true }
        let handler = state.withLock { $0.current?.name } ?? ""
        postError(
            .notNegotiated, "\(name): handler \(handler) can't take what comes in",
            debug: "upstream gives \(caps); the handler takes \(accepted), progressive or interleaved")
        return false
    }

    override func setCaps(_ caps: Caps) -> Bool {
        guard accepted != nil else {
            stream = nil
            return true
        }
        guard let info = VideoInfo(caps) else { return false }
        stream = Stream(info, caps)
        Self.log.log(.debug, raw: instance.element, "format \(caps)")
        return true
    }

    override func transformInPlace(_ buffer: BufferAccess) -> FlowReturn {
        guard let handler = state.withLock({ $0.current }), let stream else { return .ok }
        let began = monotonicNanoseconds()
        do {
            let verdict = try buffer.withVideoFrame(stream.info, .readWrite) { mapped in
                var frame = MGVideoFrame(
                    mapped: mapped.frame, buffer: buffer.raw, caps: stream.caps.raw,
                    running_time: UInt64(runningTime(of: buffer.presentationTimestamp).raw),
                    presentation_timestamp: UInt64(buffer.presentationTimestamp.raw),
                    capture_time: buffer.captureTime ?? 0, rotation: Rotation(of: buffer).rawValue)
                return try handler.process(&frame)
            }
            statistics.handlerTime.wrappingAdd(monotonicNanoseconds() - began, ordering: .relaxed)
            switch verdict {
            case .pass:
                statistics.countFrame()
                return .ok
            case .drop:
                statistics.countDrop()
                Self.log.log(.debug, raw: instance.element, "handler \(handler.name) dropped a frame")
                return .dropped
            case nil:
                postError(
                    .wrongFormat, "\(name): a frame can't be mapped",
                    debug: "caps \(stream.caps) need \(stream.info.size) bytes, the buffer has \(buffer.size)")
                return .error
            }
        } catch {
            postError(.processing, "\(name): handler \(handler.name) failed: \(error)")
            return .error
        }
    }
}
