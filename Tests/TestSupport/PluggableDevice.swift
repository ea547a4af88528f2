import GStreamer
import MediaGraph
import Synchronization

/// A device that a test plugs in and unplugs. It fails as V4L2's and ALSA's elements do.
///
/// Its elements are `testcamera device=NAME` (64×48, 30 frames a second, brightness 200) and `testmicrophone
/// device=NAME` (48000 Hz mono, blocks of 10 ms). The first eight bytes of each buffer are the monotonic time at which
/// it was made.
public final class PluggableDevice: Sendable {
    /// Registers the elements once: a second registration would free the factories of existing elements.
    private static let registered: Void = {
        try? ElementClass.register(PluggableCamera.self, in: nil)
        try? ElementClass.register(PluggableMicrophone.self, in: nil)
    }()

    /// How the device behaves when an element opens, uses and closes it.
    public enum State: Sendable {
        /// The device works, doesn't exist, is used by another program, or may not be opened.
        case there, missing, busy, forbidden
        /// The device opens, but sends no data.
        case silent
        /// Opening the device blocks until its state changes.
        case stuck
        /// Closing the device blocks until its state changes.
        case stuckInClose
        /// Playing the device, pausing it, or asking it to end its stream blocks until its state changes.
        case stuckInPlay, stuckInPause, stuckInEndOfStream
        /// The device sends no data. It accepts a request to end its stream, but never ends it.
        case ignoresEndOfStream
    }

    private static let all = Mutex<[String: PluggableDevice]>([:])

    /// The value of the elements' property `device`.
    public let name: String
    private let current: BlockingMonitor<State>
    /// How often the device was opened.
    public let openings = Atomic<Int>(0)

    /// Makes a device, and registers its elements with GStreamer.
    public init(_ name: String, _ state: State = .there) {
        self.name = name
        current = BlockingMonitor(state)
        Self.all.withLock { $0[name] = self }
        Self.registered
    }

    /// The device's current behavior, which may change at any time.
    public var state: State {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Whether the device sends no data in the state `stuckInClose`.
    public var isSilent: Bool {
        get { silence.load(ordering: .relaxed) }
        set { silence.store(newValue, ordering: .relaxed) }
    }
    private let silence = Atomic<Bool>(false)

    /// How often the device was closed.
    public let closings = Atomic<Int>(0)

    /// How many frames or blocks the device has left out because it sends no data.
    fileprivate let omissions = Atomic<Int>(0)

    /// Waits until the device has left out `count` more frames or blocks. After that, nothing that it sent before is
    /// still on its way. Returns false after a minute.
    public func isQuiet(for count: Int = 1) -> Bool {
        let before = omissions.load(ordering: .acquiring)
        return waitUntil { omissions.load(ordering: .acquiring) >= before + count }
    }

    private let hanging = Atomic<Int>(0)

    /// Waits until `count` calls to the device hang. Returns false after a minute.
    public func hangs(_ count: Int = 1) -> Bool { waitUntil { hanging.load(ordering: .acquiring) >= count } }

    func waitWhile(_ state: State) {
        guard self.state == state else { return }
        hanging.add(1, ordering: .acquiringAndReleasing)
        _ = current.wait { $0 == state ? nil : true }
        hanging.subtract(1, ordering: .acquiringAndReleasing)
    }

    static func named(_ name: String) -> PluggableDevice? { all.withLock { $0[name] } }
}

/// `@unchecked Sendable`: `next` belongs to the streaming thread; the rest is atomic or locks.
class PluggableSource: PushSource, ConfigurableElement, @unchecked Sendable {
    struct Settings: Sendable {
        var device = ""
    }

    static let defaultSettings = Settings()
    let settings = SettingsStore(defaultSettings)
    private let alarm = ClockAlarm()
    private let isInterrupted = Atomic<Bool>(false)
    private var next = ClockTime.zero

    class var step: Duration { .zero }
    class var caps: String { "" }
    class var payload: (size: Int, value: UInt8) { (0, 0) }

    static func declare(_ name: String, _ typeName: String, caps: String) -> ElementDeclaration {
        ElementDeclaration(
            factoryName: name, typeName: typeName, longName: "Test device", classification: "Source",
            summary: "A device that a test plugs in and unplugs", author: "MediaGraph's tests",
            padTemplates: [PadTemplate("src", .source, caps: caps)],
            properties: [.setting("device", of: PluggableSource.self, \.device, "The device's name")], abiVersion: 1)
    }

    private var device: PluggableDevice? { PluggableDevice.named(settings.current.device) }

    override func changeState(_ change: StateChange) -> StateChangeResult {
        if case .nullToReady = change {
            device?.openings.wrappingAdd(1, ordering: .relaxed)
            switch device?.state {
            case .there, .silent, .stuckInClose, .stuckInPlay, .stuckInPause, .stuckInEndOfStream, .ignoresEndOfStream:
                break
            case .stuck: device?.waitWhile(.stuck)
            case .busy: return refuse(.busy, "Device is busy.")
            case .forbidden: return refuse(.notAuthorized, "Could not open device for reading and writing.")
            case .missing, nil: return refuse(.notFound, "Cannot identify device.")
            }
        }
        if case .pausedToPlaying = change { device?.waitWhile(.stuckInPlay) }
        if case .playingToPaused = change { device?.waitWhile(.stuckInPause) }
        if case .readyToNull = change {
            device?.waitWhile(.stuckInClose)
            device?.closings.wrappingAdd(1, ordering: .relaxed)
        }
        return super.changeState(change)
    }

    private func refuse(_ problem: ElementProblem, _ text: String) -> StateChangeResult {
        postError(problem, text)
        return .failure
    }

    override func endOfStreamRequested() -> Bool {
        device?.waitWhile(.stuckInEndOfStream)
        return device?.state == .ignoresEndOfStream
    }

    override func start() -> Bool {
        next = .zero
        return true
    }

    override func unlock() {
        isInterrupted.store(true, ordering: .relaxed)
        alarm.cancel()
    }

    override func unlockStop() { isInterrupted.store(false, ordering: .relaxed) }

    override var latency: (isLive: Bool, minimum: Duration, maximum: Duration?) { (true, Self.step, nil) }

    override func create(_ buffer: inout Buffer?) -> FlowReturn {
        if next == .zero {
            setCaps(Caps(Self.caps)!)
            next = element.currentRunningTime ?? .zero
        }
        // Each frame that the device leaves out takes a turn.
        while !isInterrupted.load(ordering: .relaxed) {
            let end = next + Self.step
            alarm.wait(for: end, of: element) { isInterrupted.load(ordering: .relaxed) }
            if isInterrupted.load(ordering: .relaxed) { break }
            let begin = next
            next = end
            switch device?.state {
            case .silent, .ignoresEndOfStream,
                .stuckInClose where device?.isSilent == true:
                device?.omissions.add(1, ordering: .releasing)
                continue
            case .there, .stuckInClose, .stuckInPlay, .stuckInPause, .stuckInEndOfStream: break
            default:
                postError(.read, "Could not read from resource.")
                return .error
            }
            let (size, value) = Self.payload
            guard let filled = Buffer(filledWith: value, count: size) else { return .error }
            filled.access.stamp()
            filled.access.presentationTimestamp = begin
            filled.access.duration = Self.step
            buffer = consume filled
            return .ok
        }
        return .flushing
    }
}

final class PluggableCamera: PluggableSource, @unchecked Sendable {
    override class var step: Duration { .frames(1, at: Fraction(30, 1)) }
    override class var caps: String { "video/x-raw, format=I420, width=64, height=48, framerate=30/1" }
    override class var payload: (size: Int, value: UInt8) { (64 * 48 * 3 / 2, 200) }
    override class var declaration: ElementDeclaration { declare("testcamera", "MediaGraphTestCamera", caps: caps) }
}

final class PluggableMicrophone: PluggableSource, @unchecked Sendable {
    override class var step: Duration { .milliseconds(10) }
    override class var caps: String { "audio/x-raw, format=S16LE, layout=interleaved, rate=48000, channels=1" }
    override class var payload: (size: Int, value: UInt8) { (960, 7) }
    override class var declaration: ElementDeclaration {
        declare("testmicrophone", "MediaGraphTestMicrophone", caps: caps)
    }
}

extension BufferAccess {
    fileprivate func stamp() {
        withUnsafeBytes(of: monotonicNanoseconds()) { write($0, at: 0) }
    }

    /// The time at which a `PluggableDevice` made the buffer; `nil` for buffers of other elements.
    public var made: UInt64? {
        let bytes = bytes(0..<16)
        guard bytes.count == 16, bytes[8] == 200 || bytes[8] == 7, bytes[15] == bytes[8] else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
}
