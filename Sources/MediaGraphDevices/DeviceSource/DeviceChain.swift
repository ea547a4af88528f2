import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// A device's element, as the description has it, and what makes of its format what downstream takes.
///
/// ```
/// source ! capsfilter ! [jpegdec] ! [videorate] ! [videoconvertscale]
/// source ! [audioconvert ! audioresample]
/// ```
/// Made anew for each time that the device comes: an element whose device has gone is no use any more.
///
/// To make it, and each step that asks the device, may take as long as a driver or a server likes: they belong into a
/// `DeviceCall`.
final class DeviceChain: Sendable {
    let flow: DeviceFlow
    /// All of the description's text.
    let element: Element
    /// The element that has the device.
    let device: Element
    /// What it is of an X screen; `nil` for any other device.
    let capture: ScreenCapture?
    /// Tells of what that loses, as long as the chain is held.
    private let losses = Mutex<ScreenLosses?>(nil)
    private let tail = Mutex<Element?>(nil)
    /// What PipeWire knew of it when it was opened.
    private let pipeWireNode = Mutex(PipeWireProvider.Node.unknown)
    private let given = Mutex<(label: String, format: String, formats: Caps?, wish: Caps?)>(("", "", nil, nil))

    /// What is made of the description; in NULL and in no bin yet. An X screen's element connects as soon as it is linked.
    ///
    /// - Parameter factories: of the elements that the description names.
    /// - Parameter isOutlived: whether downstream goes on when the device has gone. The memory of PipeWire's buffers goes with it
    ///   (0.3.65), though a sink may hold the last one: then its frames are copied.
    init(_ description: String, of factories: Set<String>, isOutlived: Bool, _ flow: DeviceFlow) throws(MediaGraphError)
    {
        let expected = "a description of one source, such as \"v4l2src device=/dev/video0\""
        do {
            element = try Self.inTurn(factories.contains(ScreenCapture.factory)) { () throws(GLibError) in
                try Element(parsing: description)
            }
        } catch {
            throw .invalidParameter(.init("source", expected: expected, actual: error.message))
        }
        guard element.staticPad("src") != nil, let device = Self.innermost(element) else {
            throw .invalidParameter(.init("source", expected: expected, actual: "\"\(description)\""))
        }
        self.device = device
        self.flow = flow
        capture = ScreenCapture(device)
        Self.stampPipeWire(device)
        Self.stampALSA(device)
        if isOutlived, device.factoryName == "pipewiresrc" { try? device.setProperty("always-copy", to: true) }
        nameDevice()
    }

    /// A program that lends its picture as a camera may give frames without timestamps, and a recording would have the first
    /// only. Those that come with one keep it.
    static func stampPipeWire(_ element: Element) {
        guard element.factoryName == "pipewiresrc" else { return }
        try? element.setProperty("do-timestamp", to: true)
    }

    /// A card's driver stamps by the monotonic clock. ALSA's plugins, behind which is a sound server, may by the wall clock
    /// (alsa-plugins 1.2.7), and a sink would wait for decades: theirs is stamped by its samples, as GStreamer does with any clock
    /// of another kind.
    private static func stampALSA(_ element: Element) {
        guard element.factoryName == "alsasrc", let name = try? element.propertyText("device"),
            !name.hasPrefix("hw:"), !name.hasPrefix("plughw:")
        else { return }
        try? element.setProperty("use-driver-timestamps", to: false)
    }

    /// Uses this camera, whatever its file is by now; `others` were there while it was. In NULL.
    func take(_ camera: CameraIdentity, besides others: Set<CameraIdentity>) throws(MediaGraphError) {
        guard isCamera else { return }
        guard let path = camera.path(besides: others) else {
            // Its file may be another's.
            throw .noDevice(.init(label, actual: "hasn't been plugged in again"))
        }
        try? device.setProperty("device", parsing: path)
        nameDevice()
    }

    /// PipeWire's source waits half a minute for a node that isn't there, and then speaks of formats.
    private func checkPresence() throws(MediaGraphError) {
        guard device.factoryName == "pipewiresrc" else { return }
        let node = PipeWireProvider.node((try? device.propertyText("target-object")) ?? "")
        pipeWireNode.withLock { $0 = node }
        guard case .missing = node else { return }
        let problem = "PipeWire has no such node; `mediagraph devices` lists its nodes"
        throw .noDevice(.init(label, actual: problem))
    }

    /// What it gives, with the device open. PipeWire's source says "anything", and waits as long for what it can't give.
    func askFormats() -> Caps {
        nameDevice()
        // Where the description says more than the device, that decides.
        let isAlone = device.staticPad("src")?.peer?.parent == nil
        if isAlone, case .device(let caps?) = pipeWireNode.withLock({ $0 }) { return caps }
        return Self.inTurn(capture != nil) { element.staticPad("src")!.queryCaps() }
    }

    /// What may connect to an X server, or leave it.
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

    // MARK: What it is

    /// What people call the device: `HD Webcam (/dev/video0)`.
    var label: String { capture?.label ?? given.withLock { $0.label } }
    /// What was picked of its formats; empty before.
    var format: String { given.withLock { $0.format } }
    /// Its file; `nil` where it has none that is known.
    var path: String? { DeviceFailure.path(of: device) }

    /// PulseAudio, or PipeWire in its place, may give another device's sound instead.
    var isFromSoundServer: Bool { device.factoryName == "pulsesrc" }

    /// Milliseconds that it may be silent at least, however short its `stallTimeout`.
    func leastPatience(_ stallTimeout: UInt64) -> UInt64 {
        // What comes first may take as long as the device to be opened.
        guard flow.hasBegun else { return DeviceSettings.leastPatience }
        return isFromSoundServer && flow.span < stallTimeout * 1_000_000 ? DeviceSettings.wakingPatience : 0
    }

    private var isCamera: Bool { device.factoryName == "v4l2src" }
    /// Which camera it is; `nil` for any other device.
    var camera: CameraIdentity? { isCamera ? path.flatMap { CameraIdentity(path: $0) } : nil }

    private func nameDevice() {
        let path = ["device", "target-object", "path", "location"].lazy
            .compactMap { try? self.device.propertyText($0) }.first { !$0.isEmpty }
        let name = (try? device.propertyText("device-name")).flatMap { $0.isEmpty ? nil : $0 }
        let place = path ?? device.factoryName ?? device.name
        given.withLock { $0.label = name.map { "\($0) (\(place))" } ?? place }
    }

    /// `lost` is called on a thread that lost something of an X screen, maybe when the chain isn't held any more, and maybe
    /// several times.
    func watchScreen(_ lost: @escaping @Sendable (ScreenCapture, MediaGraphError) -> Void) {
        guard let capture else { return }
        let losses = ScreenLosses { loss in
            if let error = capture.error(loss) { lost(capture, error) }
        }
        self.losses.withLock { $0 = losses }
    }

    // MARK: Its place in the bin

    /// Its state is nobody's but the caller's.
    func add(to bin: BinElement) {
        element.setLocksState(true)
        bin.add(element)
    }

    /// Chooses of its formats, and adds what that needs. `downstream` is what is to be given, and where a stream goes on,
    /// `isFixed`, nothing else.
    func choose(
        of formats: Caps, for downstream: Caps?, isFixed: Bool, in bin: BinElement
    ) throws(MediaGraphError) -> Pad {
        let plan = try ConversionPlan(label, from: formats, to: downstream, isFixed: isFixed)
        given.withLock { ($0.format, $0.formats, $0.wish) = (plan.format, formats, downstream) }
        var end = element.staticPad("src")!
        if !plan.text.isEmpty {
            let tail: Element
            do { tail = try Element(parsing: plan.text) } catch {
                throw .unsupported(.init(label, expected: "the elements \(plan.text)", actual: error.message))
            }
            tail.setLocksState(true)
            bin.add(tail)
            self.tail.withLock { $0 = tail }
            end = tail.staticPad("src")!
        }
        end.setFlowWatch(flow)
        if capture != nil { end.liftLatencyLimit() }
        return end
    }

    /// Stops nothing that hasn't answered yet.
    func remove(from bin: BinElement, stops: Bool) {
        bin.remove(element, stops: stops)
        if let tail = tail.withLock({ $0 }) { bin.remove(tail, stops: stops) }
    }

    // MARK: Its states

    /// To READY, which opens most devices. Why it can't its elements say, or the error does.
    func open() throws(MediaGraphError) {
        // A window that was asked for is there, or nothing is captured.
        try capture?.choose()
        try checkPresence()
        guard go(to: .ready) else { throw cannotOpen }
    }

    /// From there to PAUSED, with the format that was chosen.
    func start() throws(MediaGraphError) {
        if let tail = tail.withLock({ $0 }), !Self.inTurn(capture != nil, { element.link(to: tail) }) {
            throw cannotConvert
        }
        guard go(to: .paused) else { throw cannotOpen }
        try capture?.confirm()
    }

    /// What was chosen of its formats doesn't lead to what is wanted.
    var cannotConvert: MediaGraphError {
        let (formats, wish) = given.withLock { ($0.formats, $0.wish) }
        guard wish?.isEmpty != true else {
            return .unsupported(
                .init(label, actual: "the elements downstream have no format in common"))
        }
        func text(_ caps: Caps?) -> String { caps.map { "\($0)" } ?? "anything" }
        return .unsupported(
            .init(label, actual: "can't be converted to \(text(wish)); the device offers \(text(formats))"))
    }

    private var cannotOpen: MediaGraphError {
        .noDevice(.init(label, actual: "can't be opened; see `mediagraph doctor`"))
    }

    func close() {
        _ = go(to: .null)
        // It may have connected without having been started.
        if let capture { ScreenTurn.take { capture.element.releaseSource() } }
    }

    /// Each in its turn, so that what is behind is ready for what comes. False when the device can't.
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
