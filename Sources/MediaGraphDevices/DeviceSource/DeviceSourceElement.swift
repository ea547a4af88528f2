import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// `devicesource`: a camera, a microphone or any other device's source, in the format that the graph wants, and with what is to
/// happen when the device goes.
///
/// ```
/// source ! capsfilter ! [conversions]  ─▶ src
/// stand-in (while the device is away)  ─▶ src
/// ```
/// The pad stands for the one or the other: what a device gives goes straight downstream, by no element or thread that wouldn't
/// be there without.
final class DeviceSourceElement: BinElement, ConfigurableElement, @unchecked Sendable {
    // `@unchecked Sendable`: constants, each `Sendable`.

    static let defaultSettings = DeviceSettings()
    let settings = SettingsStore(defaultSettings)
    let statistics = NodeStatistics()
    let absences = DeviceAbsences()
    /// Who has the device, and where it stands; see `DeviceSourceElement+Keeping`.
    let position = BlockingMonitor(DevicePosition())
    private let ghost = Mutex<GhostPad?>(nil)

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
                    "Which default device it is, where source is empty"),
                .setting(
                    "reconnect", of: Self.self, \.reconnect, changes: .untilInitialized,
                    "What to do when the device is missing or lost. Except with never, the graph resumes when the device returns"
                ),
                .setting(
                    "stall-timeout", of: Self.self, \.stallTimeout, range: .values(0...3_600_000), changes: .always,
                    "Milliseconds without data after which the device counts as lost; 0 disables the check. Opening the device and its first data may take at least 5000, the second block of a sound server at least 3000. A graph that can run without the device waits 2000 at the start"
                ),
                .readOnly("format", of: Self.self, default: "", "Which of the device's formats was picked") {
                    $0.position.withLock { $0.chain?.format } ?? ""
                },
                DeviceAbsences.property(of: Self.self),
            ],
            messages: DeviceMessage.declarations, abiVersion: NodeDefinition.abiVersion)
    }

    override class var speaksForChildren: Bool { true }
    override class var watchesMessages: Bool { true }
    /// It stands still when the device does, and with it all of the graph.
    override class var lendsClock: Bool { false }
    override class var hearsSentEvents: Bool { true }

    // MARK: The pad

    /// The bin's pad, which stands for `target` from now on.
    func show(_ target: Pad?) {
        ghost.withLock { ghost in ghost?.setTarget(target) }
    }

    var pad: Pad? { ghost.withLock { $0?.pad } }

    /// What it gives, or is going to; `nil` where nobody knows yet.
    var mediaType: MediaType? { pad?.currentCaps.flatMap { MediaType($0) } ?? guessedType(nil) }

    required init(instance: ElementInstance) {
        super.init(instance: instance)
        let pad = instance.addGhostPad("src")
        // One stream, whoever gives it.
        pad.pad.setStreamID("devicesource/\(UUID().uuidString)")
        ghost.withLock { $0 = pad }
    }

    func settingsDidChange(_ property: String) {
        // Whoever waits for a stall looks again.
        if property == "stall-timeout" { position.withLock { _ in } }
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
            letChangeEnd()
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

    // MARK: What the device's elements say

    override func childPosted(_ message: Message) -> Bool {
        switch message.kind {
        case .error(let report): return childFailed(message, report)
        // While it is tried whether the device is back, nobody wants to hear that it isn't.
        case .warning: return !position.withLock { $0.isTrying }
        case .other("clock-provide"), .clockLost: return false
        default: return true
        }
    }

    /// Ends this stream and the graph with the error. Returns false if another thread reports a failure, or has reported one.
    @discardableResult
    func failOnce(_ error: MediaGraphError) -> Bool {
        let isFirst = position.withLock { position in
            if position.ending == .none { position.ending = .asked }
            defer { position.hasFailed = true }
            return !position.hasFailed
        }
        if isFirst { fail(error) }
        return isFirst
    }

    /// Ends the graph.
    func fail(_ error: MediaGraphError) {
        let problem = Self.problem(of: error)
        // So the graph looks who has no format in common.
        let debug = problem == .notNegotiated ? "not-negotiated" : ""
        postError(problem, "\(error)", debug: debug, details: error.details)
    }

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
