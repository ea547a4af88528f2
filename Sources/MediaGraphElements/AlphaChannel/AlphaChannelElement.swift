import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `alphachannel`: gives frames an alpha plane while it is enabled (Zoom's alpha channel mode).
///
/// Off, frames leave as I420, untouched where they came so; on, as A420. A change counts from a frame on: that frame has
/// the new caps ahead of it, and between both an event says so.
final class AlphaChannelElement: BufferTransform, ConfigurableElement, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: settings and state are behind locks; `stream` is touched by the streaming thread only, or
    // while there is none.

    struct Settings: Sendable {
        var mask = "alpha method=green"
        var isEnabled = false
        var isPermitted = true
    }

    static let defaultSettings = Settings()
    let settings = SettingsStore(defaultSettings)
    private let statistics = NodeStatistics()
    /// The last mask that was tried, and what came of it.
    private let trial = Mutex<(mask: AlphaMask, problem: MediaGraphError?)?>(nil)
    private var stream = Stream()

    private struct Stream {
        /// Whether frames leave with alpha; decided by the caps that were negotiated.
        var hasAlpha = false
        /// What has been announced: nothing is no alpha.
        var announced = false
        var input: Caps?
        /// `nil` in pass-through. The mask's is kept while it is off, with what it has learned.
        var current: BufferFilter?
        var masking: (output: Caps, filter: BufferFilter)?
    }

    static let log = DebugCategory("alphachannel", "MediaGraph alpha channel")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.alphaChannel, typeName: "GstAlphaChannel", longName: "Alpha channel",
            classification: "Filter/Effect/Video",
            summary: "Gives frames an alpha plane, made by a mask's elements, while it is enabled",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("sink", .sink, caps: "video/x-raw"),
                PadTemplate("src", .source, caps: "video/x-raw, format={ I420, A420 }"),
            ],
            properties: [
                .setting(
                    "mask", of: Self.self, \.mask,
                    """
                    Elements that make the alpha, as a description, one frame for each at once; empty takes the alpha \
                    that frames come with
                    """),
                .setting(
                    "enabled", of: Self.self, \.isEnabled, changes: .always,
                    "Whether frames leave with alpha (A420) or without (I420), from the next frame on"),
                .setting(
                    "permitted", of: Self.self, \.isPermitted, changes: .always,
                    "Whether it may be enabled, as far as this node goes. Off disables it too, and it stays so"
                ),
                .readOnly(
                    "can-enable", of: Self.self, default: true,
                    "Whether it may be enabled: permitted here, and by the session that it leads to, by its user's role"
                ) { $0.refusal == nil },
                .readOnly(
                    "supported", of: Self.self, default: false,
                    "Whether the mask's elements are here and make an alpha plane; tried when it is read"
                ) { $0.problem == nil },
                NodeStatistics.property(of: Self.self) { $0.statistics },
            ],
            messages: [
                MessageDeclaration(
                    AlphaChannelMessage.name,
                    "Frames carry alpha or no longer do; once for each change, with an event of that name",
                    fields: [("enabled", "boolean", "whether the frames that follow have an alpha plane")])
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    /// Why it may not be enabled; `nil` when it may.
    private var refusal: String? {
        guard settings.current.isPermitted else { return "it isn't permitted" }
        return AlphaPermission.refusal(askDownstream)
    }

    private var mask: AlphaMask { AlphaMask(description: settings.current.mask) }

    /// Why there can be no alpha here; `nil` when there can.
    private var problem: MediaGraphError? {
        let mask = mask
        if mask.isUpstreams {
            guard let caps = upstreamCaps, caps.canIntersect(AlphaMask.alphaCaps) else {
                return .unsupported(.init(name, expected: "frames with alpha, or a mask", actual: "frames without"))
            }
            return nil
        }
        // Tried without the lock: the elements of a mask may take their time to load.
        if let known = trial.withLock({ $0 }), known.mask == mask { return known.problem }
        var problem: MediaGraphError?
        do throws(MediaGraphError) { try mask.check() } catch { problem = error }
        trial.withLock { $0 = (mask, problem) }
        return problem
    }

    func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused) {
        guard property == "enabled", proposed.isEnabled else { return }
        if let refusal { throw PropertyRefused(refusal) }
        guard isRunning else { return }
        if let problem { throw PropertyRefused("\(problem)") }
        if let downstreamCaps, !downstreamCaps.canIntersect(AlphaMask.alphaCaps) {
            throw PropertyRefused("downstream takes no A420: \(downstreamCaps)")
        }
    }

    func settingsDidChange(_ property: String) {
        // Either may be set while another thread sets the other.
        if property == "permitted" || property == "enabled", disableUnlessPermitted() { notify("enabled") }
        if property != "mask" { renegotiate() }
    }

    /// What isn't permitted isn't on, and doesn't come back by itself with the permission.
    private func disableUnlessPermitted() -> Bool {
        settings.update { settings in
            guard settings.isEnabled, !settings.isPermitted else { return false }
            settings.isEnabled = false
            return true
        }
    }

    override func start() -> Bool {
        statistics.reset()
        stream = Stream()
        guard wantsAlpha else { return true }
        if let refusal {
            postError(.settings, "\(name): it can't be enabled: \(refusal)")
            return false
        }
        guard !mask.isUpstreams, let problem else { return true }
        postError(.settings, "\(name): \(problem)")
        return false
    }

    override func stop() -> Bool {
        stream = Stream()
        return true
    }

    // MARK: Negotiation

    private var wantsAlpha: Bool { settings.current.isEnabled }

    override func outputCaps(for input: Caps) -> Caps {
        let format: VideoFormat = wantsAlpha ? .a420 : .i420
        // From RGB there is no matrix or range to keep.
        let isYUV = input.isFixed && VideoInfo(input)?.isYUV == true
        return input.reformatted(to: [format], keepsColorimetry: isYUV)
    }

    override func inputCaps(for output: Caps) -> Caps {
        let any = output.reformatted(to: [])
        // Upstream is asked first for what costs nothing, or for what brings the alpha.
        let best =
            mask.isUpstreams
            ? output.reformatted(to: [.a420, .rgba, .bgra, .argb, .abgr])
            : output
                .reformatted(to: [.i420])
        return best.appending(any)
    }

    override func setCaps(input: Caps, output: Caps) -> Bool {
        guard let from = VideoInfo(input), let to = VideoInfo(output) else { return false }
        stream.input = input
        stream.hasAlpha = to.format == .a420
        // videoconvert would make an alpha up: 128 of planar YUV.
        guard !stream.hasAlpha || !mask.isUpstreams || input.canIntersect(AlphaMask.alphaCaps) else {
            postError(
                .notNegotiated, "\(name): frames have no alpha, and there is no mask to make one",
                debug: "upstream gives \(input)")
            return false
        }
        let isAsItCame = from.formatName == to.formatName && (!stream.hasAlpha || mask.isUpstreams)
        Self.log.log(
            .info, raw: instance.element,
            "\(stream.hasAlpha ? "on" : "off"), \(isAsItCame ? "passes through" : "makes \(output) of \(input)")")
        do throws(BufferFilterError) {
            stream.current = isAsItCame ? nil : try filter(output)
        } catch {
            postError(.notNegotiated, "\(name): \(error)", debug: "upstream gives \(input), \(output) is to leave")
            return false
        }
        setPassthrough(isAsItCame)
        return true
    }

    private func filter(_ output: Caps) throws(BufferFilterError) -> BufferFilter {
        guard stream.hasAlpha else { return try AlphaMask.converter(output: output) }
        if let masking = stream.masking, masking.output == output { return masking.filter }
        let filter = try mask.filter(output: output)
        stream.masking = (output, filter)
        return filter
    }

    // MARK: Frames

    override func willTransform() {
        statistics.countFrame()
        guard stream.hasAlpha != stream.announced else { return }
        stream.announced = stream.hasAlpha
        let structure = Structure(AlphaChannelMessage.name, [("enabled", stream.hasAlpha)])
        pushSticky(structure)
        post(structure)
    }

    override func transform(_ buffer: consuming Buffer) -> Buffer? {
        guard let filter = stream.current, let input = stream.input else { return buffer }
        do throws(BufferFilterError) {
            return try filter.apply(buffer, caps: input)
        } catch {
            postError(.processing, "\(name): \(error)")
            return nil
        }
    }
}
