import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// A device's element, as the description has it, and the elements that convert its format to what downstream accepts.
///
/// ```
/// source ! capsfilter ! [jpegdec] ! [videorate] ! [videoconvertscale]
/// source ! [audioconvert ! audioresample]
/// ```
/// A chain is created each time the device returns: an element whose device was lost can't be used again.
///
/// Creating a chain, and each step that accesses the device, may block as long as a driver or a server does. Run them
/// in a `DeviceCall`.
final class DeviceChain: Sendable {
    let flow: DeviceFlow
    /// The element made from the whole description.
    let element: Element
    /// The element that opens the device.
    let device: Element
    /// The screen capture, if the device is an X screen or a window.
    let capture: ScreenCapture?
    private let tail = Mutex<Element?>(nil)
    /// The device's PipeWire node, looked up when the device was opened.
    private let pipeWireNode = Mutex(PipeWireProvider.Node.unknown)
    private let chosen = Mutex<(label: String, format: String, formats: Caps?, downstream: Caps?)>(("", "", nil, nil))

    /// Creates the elements of a description, in NULL and in no bin. The element of an X screen connects as soon as it
    /// is linked. Throws `invalidParameter` if the description isn't one source.
    ///
    /// - Parameters:
    ///   - factories: The factories of the elements in the description.
    ///   - isOutlived: Whether the stream continues when the device is lost. PipeWire's buffers become invalid with
    ///     their device (0.3.65), even if a sink holds the last one, so PipeWire's frames are copied in this case.
    init(_ description: String, of factories: Set<String>, isOutlived: Bool, _ flow: DeviceFlow) throws(MediaGraphError)
    {
        let expected = "a description of one source, such as \"v4l2src device=/dev/video0\""
        do {
            element = try ScreenTurn.make(factories) { () throws(GLibError) in try Element(parsing: description) }
        } catch {
            throw .invalidParameter(.init("source", actual: "\(error.message); write \(expected)"))
        }
        guard element.staticPad("src") != nil, let device = Self.innermost(element) else {
            throw .invalidParameter(.init("source", expected: expected, actual: "\"\(description)\""))
        }
        self.device = device
        self.flow = flow
        capture = ScreenCapture(device)
        Self.stampPipeWire(device)
        Self.stampALSA(device)
        if isOutlived, device.factoryName == "pipewiresrc" { device.configure("always-copy", to: true) }
        nameDevice()
    }

    /// Makes `pipewiresrc` set missing timestamps. A program that acts as a camera may produce frames without
    /// timestamps, of which a recording would contain only the first. Existing timestamps are kept.
    static func stampPipeWire(_ element: Element) {
        guard element.factoryName == "pipewiresrc" else { return }
        element.configure("do-timestamp", to: true)
    }

    /// Makes `alsasrc` ignore the timestamps of ALSA plugins. A card's driver uses the monotonic clock. The plugins for
    /// sound servers may use the wall clock (alsa-plugins 1.2.7), and a sink would wait for decades. Without them,
    /// timestamps are computed from the samples, as GStreamer does for other clocks.
    private static func stampALSA(_ element: Element) {
        guard element.factoryName == "alsasrc", let name = try? element.propertyText("device"),
            !name.hasPrefix("hw:"), !name.hasPrefix("plughw:")
        else { return }
        element.configure("use-driver-timestamps", to: false)
    }

    /// Selects this camera, whatever its current device file. `others` are the cameras that were present when it was
    /// lost. Call it in NULL. Throws `noDevice` if the camera isn't plugged in.
    func select(camera: CameraIdentity, besides others: Set<CameraIdentity>) throws(MediaGraphError) {
        guard isCamera else { return }
        guard let path = camera.path(besides: others) else {
            // The file with the old name may belong to another camera.
            throw .noDevice(.init(label, actual: "hasn't been plugged in again"))
        }
        device.configure("device", parsing: path)
        nameDevice()
    }

    /// Throws `noDevice` if PipeWire doesn't have the node, and `timeOut` if PipeWire doesn't answer. `pipewiresrc` waits half a minute for a missing node, and
    /// then reports an error about formats.
    private func checkPresence() throws(MediaGraphError) {
        guard device.factoryName == "pipewiresrc" else { return }
        let node = PipeWireProvider.node((try? device.propertyText("target-object")) ?? "")
        pipeWireNode.withLock { $0 = node }
        switch node {
        case .device, .unknown: return
        case .unanswered: throw PipeWireProvider.unanswered(label)
        case .missing:
            throw .noDevice(
                .init(label, actual: "PipeWire has no such node; `mediagraph devices` lists its nodes"))
        }
    }

    /// Returns the caps of the open device. `pipewiresrc` answers "any", and waits half a minute for caps that its node
    /// doesn't support; so the caps of the node are returned.
    func queryFormats() -> Caps {
        nameDevice()
        // If the description has more elements than the device's, their caps decide.
        let isAlone = device.staticPad("src")?.peer?.parent == nil
        if isAlone, case .device(let caps?) = pipeWireNode.withLock({ $0 }) { return caps }
        return Self.inTurn(capture != nil) { element.staticPad("src")!.queryCaps() }
    }

    /// Runs `body`, which may connect to an X server or disconnect from it.
    private static func inTurn<Result, Failure: Error>(
        _ isScreen: Bool, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        isScreen ? try ScreenTurn.take(body) : try body()
    }

    private static func innermost(_ element: Element) -> Element? {
        let sources = element.sources
        guard sources.isEmpty else { return sources.lazy.compactMap(innermost).first }
        return element.staticPad("sink") == nil ? element : nil
    }

    // MARK: Identity

    /// The device's display name, such as `HD Webcam (/dev/video0)`.
    var label: String { capture?.label ?? chosen.withLock { $0.label } }
    /// The chosen format; empty until one is chosen.
    var format: String { chosen.withLock { $0.format } }
    /// The device's file; `nil` if it has none or it isn't known.
    var path: String? { DeviceFailure.path(of: device) }

    /// Whether the device belongs to a PulseAudio server, or to PipeWire in that role. Such a server may switch to the
    /// sound of another device.
    var isFromSoundServer: Bool { device.factoryName == "pulsesrc" }

    /// Returns the shortest time without data after which the device may count as lost, even if `stallTimeout` (in
    /// nanoseconds) is shorter.
    func minimumTimeout(_ stallTimeout: UInt64) -> Duration {
        // The first data may take as long as opening the device.
        guard flow.hasBegun else { return DeviceSettings.minimumTimeout }
        return isFromSoundServer && flow.span < stallTimeout ? DeviceSettings.wakeUpTimeout : .zero
    }

    private var isCamera: Bool { device.factoryName == "v4l2src" }
    /// The camera's identity; `nil` for any other device.
    var camera: CameraIdentity? { isCamera ? path.flatMap { CameraIdentity(path: $0) } : nil }

    private func nameDevice() {
        let path = ["device", "target-object", "path", "location"].lazy
            .compactMap { try? self.device.propertyText($0) }.first { !$0.isEmpty }
        let name = (try? device.propertyText("device-name")).flatMap { $0.isEmpty ? nil : $0 }
        let place = path ?? device.factoryName ?? device.name
        chosen.withLock { $0.label = name.map { "\($0) (\(place))" } ?? place }
    }

    // MARK: In the bin

    /// Adds the device's element to the bin, with a locked state that only the caller changes.
    func add(to bin: BinElement) {
        element.setStateLocked(true)
        bin.add(element)
    }

    /// Chooses one of the formats, and adds the elements that convert it. Returns the chain's source pad. `downstream`
    /// are the caps that downstream accepts; with `isFixed`, a stream continues and the output must have exactly these
    /// caps. Throws `unsupported` if no format can be converted.
    func choose(
        of formats: Caps, for downstream: Caps?, isFixed: Bool, in bin: BinElement
    ) throws(MediaGraphError) -> Pad {
        let plan = try ConversionPlan(label, from: formats, to: downstream, isFixed: isFixed)
        chosen.withLock { ($0.format, $0.formats, $0.downstream) = (plan.format, formats, downstream) }
        var end = element.staticPad("src")!
        if !plan.text.isEmpty {
            let tail: Element
            do { tail = try Element(parsing: plan.text) } catch {
                throw .unsupported(.init(label, actual: "needs the elements \(plan.text): \(error.message)"))
            }
            tail.setStateLocked(true)
            bin.add(tail)
            self.tail.withLock { $0 = tail }
            end = tail.staticPad("src")!
        }
        end.setFlowWatch(flow)
        if capture != nil { end.removeMaximumLatency() }
        return end
    }

    /// Removes all elements from the bin. `stops` must be false if a call to the device hasn't returned.
    func remove(from bin: BinElement, stops: Bool) {
        bin.remove(element, stops: stops)
        if let tail = tail.withLock({ $0 }) { bin.remove(tail, stops: stops) }
    }

    // MARK: States

    /// Goes to READY, which opens most devices. If it fails, the reason is in an error message of the elements, or in
    /// the thrown error.
    func open() throws(MediaGraphError) {
        // Throws if the window doesn't exist: `ximagesrc` would capture the whole screen.
        try capture?.choose()
        try checkPresence()
        guard go(to: .ready) else { throw cannotOpen }
    }

    /// Goes from READY to PAUSED, with the chosen format.
    func start() throws(MediaGraphError) {
        if let tail = tail.withLock({ $0 }), !Self.inTurn(capture != nil, { element.link(to: tail) }) {
            throw cannotConvert
        }
        guard go(to: .paused) else { throw cannotOpen }
        try capture?.confirm()
    }

    /// The error if the chosen format can't be converted to what downstream accepts.
    var cannotConvert: MediaGraphError {
        let (formats, downstream) = chosen.withLock { ($0.formats, $0.downstream) }
        guard downstream?.isEmpty != true else {
            return .unsupported(
                .init(label, actual: "the elements downstream have no format in common"))
        }
        func text(_ caps: Caps?) -> String { caps.map { "\($0)" } ?? "anything" }
        return .unsupported(
            .init(label, actual: "can't be converted to \(text(downstream)); the device offers \(text(formats))"))
    }

    private var cannotOpen: MediaGraphError {
        .noDevice(.init(label, actual: "can't be opened; see `mediagraph doctor`"))
    }

    func close() {
        _ = go(to: .null)
        // The element may have connected without having been started.
        if let capture { ScreenTurn.take { capture.element.releaseSource() } }
    }

    /// Changes the state of all elements, the downstream ones first on the way up and last on the way down. Returns
    /// false if the device fails.
    func go(to state: State) -> Bool {
        let tail = tail.withLock { $0 }
        let isUp = state > element.state
        if isUp, let tail, tail.setState(state) == .failure { return false }
        let connects = capture != nil && min(state, element.state) < .paused
        let result = Self.inTurn(connects) { element.setState(state) } != .failure
        if !isUp { tail?.setState(state) }
        return result
    }
}
