import CGStreamer
import CMediaGraphABI
import GStreamer
import Synchronization

/// `videosource`: raw video from a handler, as a live source.
///
/// A bin around appsrc. It is live at every pace: a graph that waits for `startSend` still reaches PLAYING, where a source
/// that isn't live would wait for its first buffer and so for ever.
final class VideoSourceElement: BinElement, ConfigurableElement, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and state behind locks.

    struct Settings: Sendable {
        var handler = ""
        var options = ""
        var pace = Pace.live
        var maxFrames: Int32 = 2
    }

    static let defaultSettings = Settings()
    let settings = SettingsStore(defaultSettings)

    private struct State {
        /// From Swift: stays for the next run too.
        var attached: SourceHandle?
        /// From `handler=`: made anew for each run.
        var named: SourceHandle?
        var current: SourceHandle? { attached ?? named }
        var announced: SupportedCapabilities?
    }

    private let state = Mutex(State())
    private let gate: VideoGate
    private let source: GhostPad

    static let log = DebugCategory("videosource", "MediaGraph video source")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: "videosource", typeName: "GstVideoSource", longName: "Video source",
            classification: "Source/Video",
            summary: "Raw video that a handler sends, as a live source",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("src", .source, caps: "video/x-raw, format={ \(NodeDefinition.formatNames) }")
            ],
            properties: [
                .setting("handler", of: Self.self, \.handler, NodeDefinition.handlerBlurb),
                .setting("options", of: Self.self, \.options, NodeDefinition.optionsBlurb),
                .setting(
                    "pace", of: Self.self, \.pace,
                    "Whether frames come at the clock's pace or as fast as they are taken"),
                .setting(
                    "max-frames", of: Self.self, \.maxFrames, range: .values(1...1000),
                    "Frames that may wait in the source"),
                NodeStatistics.property(of: Self.self) { $0.gate.statistics },
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    private static let door = NodeDoor.make(source: { element, source, error in
        let node = ElementClass.implementation(of: element!, as: VideoSourceElement.self)
        do throws(MediaGraphError) {
            try node.attach(source!.pointee)
            return 1
        } catch let refused {
            refused.store(in: error)
            return 0
        }
    })

    required init(instance: ElementInstance) {
        guard let appSource = AppSource(name: "appsrc") else {
            preconditionFailure("the element appsrc is missing: install gstreamer1.0-plugins-base")
        }
        let owner = WeakElement(instance)
        gate = VideoGate(appSource: appSource, owner: owner) {
            guard let element = owner.element else { return }
            ElementClass.implementation(of: element.element, as: VideoSourceElement.self).announceCapabilities()
        }
        instance.add(appSource)
        source = instance.addGhostPad("src", target: appSource.staticPad("src")!)
        super.init(instance: instance)
        NodeDoor.install(Self.door.pointer, on: instance)
        source.onQuery { [gate] query in
            switch query {
            case .latency where gate.pace == .fast: .notLive
            case .caps, .allocation, .latency: .forward
            }
        }
        source.onReconfigure { [gate] in gate.downstreamReconfigured() }
    }

    private func attach(_ abi: MGVideoSource) throws(MediaGraphError) {
        guard self.element.state == .null else {
            throw .lockedWhileRunning(.init("\(name)'s source", expected: "to be attached before the graph starts"))
        }
        guard state.withLock({ $0.attached == nil }) else {
            throw .alreadyInUse(.init(name, expected: "one source", actual: "a second"))
        }
        let handle = SourceHandle(abi)
        state.withLock { $0.attached = handle }
    }

    override func changeState(_ change: StateChange) -> StateChangeResult {
        do throws(MediaGraphError) {
            switch change {
            case .nullToReady: try initialize()
            case .playingToPaused: stopSend()
            default: break
            }
            let result = super.changeState(change)
            switch change {
            case .nullToReady where result == .failure: uninitialize()
            case .pausedToPlaying where result != .failure: try startSend()
            case .readyToNull: uninitialize()
            default: break
            }
            return result
        } catch {
            if case .nullToReady = change { uninitialize() }
            postError(.settings, "\(name): \(error)")
            return .failure
        }
    }

    private func initialize() throws(MediaGraphError) {
        let settings = settings.current
        if !settings.handler.isEmpty {
            guard state.withLock({ $0.attached == nil }) else {
                throw .alreadyInUse(
                    .init(name, expected: "one source", actual: "handler=\(settings.handler) beside one from Swift"))
            }
            let handle = try HandlerRegistry.shared.makeSource(settings.handler, options: settings.options)
            state.withLock { $0.named = handle }
        }
        gate.initialize(pace: settings.pace, maxFrames: Int(settings.maxFrames))
        guard let handle = state.withLock({ $0.current }) else {
            Self.log.log(.info, raw: instance.element, "no handler: nothing will be sent")
            return
        }
        let supported = SupportedCapabilities(declared: handle.capabilities, downstream: source.pad.peerCaps())
        state.withLock { $0.announced = supported }
        Self.log.log(
            .info, raw: instance.element,
            "handler \(handle.name): \(supported.list.count) capabilities, suggested \(supported.suggested.map(String.init(describing:)) ?? "none")"
        )
        try handle.initialize(MGVideoSender(gate), supported)
    }

    /// Downstream asked for a new negotiation: the source is told when the outcome differs.
    private func announceCapabilities() {
        guard let handle = state.withLock({ $0.current }) else { return }
        let supported = SupportedCapabilities(declared: handle.capabilities, downstream: source.pad.peerCaps())
        guard
            state.withLock({ state in
                defer { state.announced = supported }
                return state.announced != supported
            })
        else { return }
        Self.log.log(.info, raw: instance.element, "property change: \(supported.list.count) capabilities")
        handle.propertyChange(supported)
    }

    private func startSend() throws(MediaGraphError) {
        guard let handle = state.withLock({ $0.current }) else { return }
        gate.open()
        do throws(MediaGraphError) { try handle.startSend() } catch {
            gate.close()
            throw error
        }
        gate.startSendReturned()
        Self.log.log(.info, raw: instance.element, "sending")
    }

    private func stopSend() {
        guard let handle = state.withLock({ $0.current }) else { return }
        gate.close()
        handle.stopSend()
        Self.log.log(.info, raw: instance.element, "stopped")
    }

    private func uninitialize() {
        gate.uninitialize()
        let handle = state.withLock { state in
            defer { state.named = nil }
            return state.current
        }
        handle?.uninitialize()
    }
}
