import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `alphachannel`: adds an alpha plane to frames while `enabled` is true (Zoom's alpha channel mode).
///
/// While disabled, frames leave as I420, and I420 input passes through unchanged. While enabled, frames leave as A420.
/// A change applies from one frame on: the new caps and then a custom event precede that frame.
final class AlphaChannelElement: BufferTransform, ConfigurableElement, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: settings and state are behind locks. `stream` is used on the streaming thread, and in
    // `start` and `stop`, while no data flows.

    struct Settings: Sendable {
        var mask = "alpha method=green"
        var isEnabled = false
        var isPermitted = true
    }

    static let defaultSettings = Settings()
    let settings = SettingsStore(defaultSettings)
    private let statistics = NodeStatistics()
    /// The mask that was checked last, and the problem that the check found.
    private let lastCheck = Mutex<(mask: AlphaMask, problem: MediaGraphError?)?>(nil)
    private var stream = Stream()

    private struct Stream {
        /// Whether frames leave with alpha, according to the negotiated caps.
        var hasAlpha = false
        /// Whether the last announcement said that frames have alpha.
        var hasAnnouncedAlpha = false
        var input: Caps?
        /// The filter that makes the output frames; `nil` in pass-through.
        var current: BufferFilter?
        /// The mask's filter. Kept while alpha is off, because its elements may have learned the background.
        var masking: (output: Caps, filter: BufferFilter)?
    }

    static let log = DebugCategory("alphachannel", "MediaGraph alpha channel")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.alphaChannel, typeName: "GstAlphaChannel", longName: "Alpha channel",
            classification: "Filter/Effect/Video",
            summary: "Adds an alpha plane, made by a mask's elements, to frames while enabled",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("sink", .sink, caps: "video/x-raw"),
                PadTemplate("src", .source, caps: "video/x-raw, format={ I420, A420 }"),
            ],
            properties: [
                .setting(
                    "mask", of: Self.self, \.mask,
                    """
                    Elements that make the alpha plane, as a description; they must output one frame per input frame, \
                    at once. Empty: keep the alpha of the incoming frames
                    """),
                .setting(
                    "enabled", of: Self.self, \.isEnabled, changes: .always,
                    "Whether frames leave with alpha (A420) or without (I420), from the next frame on"),
                .setting(
                    "permitted", of: Self.self, \.isPermitted, changes: .always,
                    "Whether this node allows alpha to be enabled. Setting it to false also disables alpha; setting it back to true doesn't enable alpha again"
                ),
                .readOnly(
                    "can-enable", of: Self.self, default: true,
                    "Whether alpha may be enabled: permitted is true and, in a session, the user's role allows it"
                ) { $0.refusal == nil },
                .readOnly(
                    "supported", of: Self.self, default: false,
                    "Whether the mask's elements are installed and make an alpha plane, or, without a mask, whether upstream frames have alpha; checked when the property is read"
                ) { $0.problem == nil },
                NodeStatistics.property(of: Self.self) { $0.statistics },
            ],
            messages: [
                AlphaChannelMessage.declaration(
                    "Frames start or stop carrying alpha; posted once per change, with a downstream event of the same name"
                )
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    /// Why alpha may not be enabled; `nil` if it may.
    private var refusal: String? {
        guard settings.current.isPermitted else { return "alpha isn't permitted; set permitted=true" }
        return AlphaPermission.refusal(askDownstream)
    }

    private var mask: AlphaMask { AlphaMask(description: settings.current.mask) }

    /// Why no alpha plane can be provided; `nil` if one can.
    private var problem: MediaGraphError? {
        let mask = mask
        if mask.usesUpstreamAlpha {
            guard let caps = upstreamCaps, caps.canIntersect(AlphaMask.alphaCaps) else {
                return .unsupported(.init(name, actual: "frames have no alpha, and no mask is set; set mask=…"))
            }
            return nil
        }
        // Checked without the lock: a mask's elements may take long to load.
        if let last = lastCheck.withLock({ $0 }), last.mask == mask { return last.problem }
        var problem: MediaGraphError?
        do throws(MediaGraphError) { try mask.check() } catch { problem = error }
        lastCheck.withLock { $0 = (mask, problem) }
        return problem
    }

    func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused) {
        guard property == "enabled", proposed.isEnabled else { return }
        if let refusal { throw PropertyRefused(refusal) }
        guard isRunning else { return }
        if let problem { throw PropertyRefused("\(problem)") }
        if let downstreamCaps, !downstreamCaps.canIntersect(AlphaMask.alphaCaps) {
            throw PropertyRefused("downstream doesn't accept A420; it accepts \(downstreamCaps)")
        }
    }

    func settingsDidChange(_ property: String) {
        // Checked for both properties: another thread may set the other one at the same time.
        if property == "permitted" || property == "enabled", disableUnlessPermitted() { notify("enabled") }
        if property != "mask" { renegotiate() }
    }

    /// Disables alpha if it isn't permitted; a later permission doesn't enable it again. Returns whether it was
    /// disabled.
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
            postError(.settings, "\(name): can't start with enabled=true: \(refusal)")
            return false
        }
        guard !mask.usesUpstreamAlpha, let problem else { return true }
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
        // RGB has no YUV matrix or range to keep.
        let isYUV = input.isFixed && VideoInfo(input)?.isYUV == true
        return input.reformatted(to: [format], keepsColorimetry: isYUV)
    }

    override func inputCaps(for output: Caps) -> Caps {
        let any = output.reformatted(to: [])
        // Prefers formats that need no conversion or that carry alpha.
        let best =
            mask.usesUpstreamAlpha
            ? output.reformatted(to: [.a420, .rgba, .bgra, .argb, .abgr])
            : output
                .reformatted(to: [.i420])
        return best.appending(any)
    }

    override func setCaps(input: Caps, output: Caps) -> Bool {
        guard let from = VideoInfo(input), let to = VideoInfo(output) else { return false }
        stream.input = input
        stream.hasAlpha = to.format == .a420
        // videoconvert would invent the alpha: 128 everywhere for planar YUV.
        guard !stream.hasAlpha || !mask.usesUpstreamAlpha || input.canIntersect(AlphaMask.alphaCaps) else {
            postError(
                .notNegotiated, "\(name): frames have no alpha, and no mask is set; set mask=…",
                debug: "upstream provides \(input)")
            return false
        }
        let isUnchanged = from.formatName == to.formatName && (!stream.hasAlpha || mask.usesUpstreamAlpha)
        Self.log.log(
            .info, raw: instance.element,
            "\(stream.hasAlpha ? "on" : "off"), \(isUnchanged ? "passes through" : "converts \(input) to \(output)")")
        do throws(BufferFilterError) {
            stream.current = isUnchanged ? nil : try filter(output)
        } catch {
            postError(.notNegotiated, "\(name): \(error)", debug: "input \(input), output \(output)")
            return false
        }
        setPassthrough(isUnchanged)
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
        guard stream.hasAlpha != stream.hasAnnouncedAlpha else { return }
        stream.hasAnnouncedAlpha = stream.hasAlpha
        let structure = AlphaChannelMessage.structure(stream.hasAlpha)
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

/// The downstream event with which an `alphachannel` announces that its frames start or stop carrying alpha. It is also
/// the bus message of the `alphachannel`, and of a `rawdatapipe` that receives the event.
package enum AlphaChannelMessage {
    package static let name = "mediagraph-alpha-channel"

    package static func structure(_ isEnabled: Bool) -> Structure { Structure(name, [("enabled", isEnabled)]) }

    static func declaration(_ summary: String) -> MessageDeclaration {
        MessageDeclaration(
            name, summary, fields: [("enabled", "boolean", "whether the following frames have an alpha plane")])
    }
}
