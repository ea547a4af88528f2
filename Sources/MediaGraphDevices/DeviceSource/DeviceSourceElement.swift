import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// `devicesource`: wraps the source element of a camera, a microphone or another device, and adds format choice, loss
/// reports and reconnection.
///
/// ```
/// source ! capsfilter ! [conversions]  ─▶ src
/// stand-in (while the device is away)  ─▶ src
/// ```
/// The node's ghost pad targets one or the other. The device's data goes straight downstream, without additional
/// elements or threads.
final class DeviceSourceElement: BinElement, ConfigurableElement, @unchecked Sendable {
    // `@unchecked Sendable`: constants, each `Sendable`.

    static let defaultSettings = DeviceSettings()
    let settings = SettingsStore(defaultSettings)
    let statistics = NodeStatistics()
    let absences = DeviceAbsences()
    /// The state of the node and its device; see `DeviceSourceElement+Reconnection`.
    let deviceState = BlockingMonitor(DeviceState())
    private let ghost = Mutex<GhostPad?>(nil)
    private let timers = Mutex(TimerClock.system)

    /// The clock of the node's time limits and pauses. Set it in NULL.
    var timerClock: TimerClock {
        get { timers.withLock { $0 } }
        set { timers.withLock { $0 = newValue } }
    }

    static let log = DebugCategory("devicesource", "MediaGraph device source")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.deviceSource, typeName: "GstDeviceSource", longName: "Device source",
            classification: "Source/Video/Audio/Hardware",
            summary:
                "Captures from a camera, microphone or other device, and can reconnect when the device returns",
            author: NodeDefinition.author, padTemplates: [PadTemplate("src", .source, caps: "ANY")],
            properties: [
                .setting(
                    "source", of: Self.self, \.source, changes: .untilInitialized,
                    "The device's element with its properties, as a description: v4l2src device=/dev/video0; empty for the default device of its kind"
                ),
                .setting(
                    "kind", of: Self.self, \.kind, changes: .untilInitialized,
                    "Which default device to use if source is empty"),
                .setting(
                    "reconnect", of: Self.self, \.reconnect, changes: .untilInitialized,
                    "What to do when the device is missing or lost. Except with never, the graph resumes when the device returns. A screen whose X server has ended can't return: Xlib ends the process"
                ),
                .setting(
                    "stall-timeout", of: Self.self, \.stallTimeout, range: .values(0...3_600_000_000_000),
                    changes: .always,
                    "Nanoseconds without data after which the device counts as lost; 0 disables the check. Opening the device and its first data may take at least 5 s, the second block of a sound server at least 3 s. A graph that can run without the device waits 2 s at the start"
                ),
                .readOnly("format", of: Self.self, default: "", "The device's format that was chosen") {
                    $0.deviceState.withLock { $0.chain?.format } ?? ""
                },
                DeviceAbsences.property(of: Self.self),
            ],
            messages: DeviceMessage.declarations, abiVersion: NodeDefinition.abiVersion)
    }

    override class var ownsChildErrors: Bool { true }
    override class var observesChildMessages: Bool { true }
    /// False, because the device's clock would stop with the device, and with it the whole graph.
    override class var providesClock: Bool { false }
    override class var handlesSentEvents: Bool { true }

    // MARK: The pad

    /// Makes the node's ghost pad target this pad.
    func show(_ target: Pad?) {
        ghost.withLock { ghost in ghost?.setTarget(target) }
    }

    /// The node's source pad.
    var pad: Pad? { ghost.withLock { $0?.pad } }

    /// The media type of the stream; `nil` if it isn't known yet.
    var mediaType: MediaType? { pad?.currentCaps.flatMap { MediaType($0) } ?? guessedType(nil) }

    required init(instance: ElementInstance) {
        super.init(instance: instance)
        let pad = instance.addGhostPad("src")
        // The stream keeps its ID when the device and its stand-in replace each other.
        pad.pad.setStreamID("devicesource/\(UUID().uuidString)")
        ghost.withLock { $0 = pad }
    }

    func settingsDidChange(_ property: String) {
        // Wakes the keeper, to apply the new time limit.
        if property == "stall-timeout" { deviceState.withLock { _ in } }
    }

    // MARK: States

    override func changeState(_ change: StateChange) -> StateChangeResult {
        switch change {
        case .nullToReady:
            let result = super.changeState(change)
            guard result != .failure else { return result }
            statistics.reset()
            absences.reset()
            return open() ? .success : .failure
        case .readyToPaused:
            guard finishOpening() else { return .failure }
            let result = super.changeState(change)
            guard result != .failure else { return result }
            return begin() ? .noPreroll : .failure
        case .pausedToPlaying:
            let result = super.changeState(change)
            guard result != .failure else { return result }
            return follow(.playing) ? .success : .failure
        case .playingToPaused:
            _ = follow(.paused)
            waitForOwner()
            return super.changeState(change) == .failure ? .failure : .noPreroll
        case .pausedToReady:
            finish()
            return super.changeState(change)
        case .readyToNull:
            close()
            return super.changeState(change)
        case .none: return super.changeState(change)
        }
    }

    override func endOfStreamRequested() -> Bool {
        endStream()
        return true
    }

    // MARK: Messages of the device's elements

    override func childPosted(_ message: Message) -> Bool {
        switch message.kind {
        case .error(let report): return childFailed(message, report)
        // Warnings of attempts to reconnect aren't of interest.
        case .warning: return !deviceState.withLock { $0.isTrying }
        case .other("clock-provide"), .clockLost: return false
        default: return true
        }
    }

    /// Ends this stream, and the graph with the error. Returns false if another thread reports or has reported a
    /// failure.
    @discardableResult
    func failOnce(_ error: MediaGraphError) -> Bool {
        let isFirst = deviceState.withLock { deviceState in
            if deviceState.ending == .none { deviceState.ending = .asked }
            defer { deviceState.hasFailed = true }
            return !deviceState.hasFailed
        }
        if isFirst { fail(error) }
        return isFirst
    }

    /// Posts the error, which ends the graph.
    func fail(_ error: MediaGraphError) {
        let problem = Self.problem(of: error)
        // Makes the graph look for the elements that have no format in common.
        let debug = problem == .notNegotiated ? "not-negotiated" : ""
        postError(problem, "\(error)", debug: debug, details: error.details)
    }

    /// Returns the GStreamer error code for an error.
    static func problem(of error: MediaGraphError) -> ElementProblem {
        switch error.code {
        case .noDevice: .notFound
        case .deviceBusy: .busy
        case .notPermitted: .notAuthorized
        case .unsupported: .notNegotiated
        case .invalidParameter: .settings
        default: .read
        }
    }
}
