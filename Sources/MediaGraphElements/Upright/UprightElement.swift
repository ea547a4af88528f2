import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `upright`: turns and flips frames upright, for encoders and sinks that ignore orientation.
///
/// A bin around the stock `videoflip`, which follows orientation tags but not the frames' metas. The bin sends the
/// orientation in a frame's meta to `videoflip` as a tag. Frames leave without an orientation, and the stream's tags
/// are replaced by `rotate-0`.
final class UprightElement: BinElement, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and an atomic.

    /// Whether the inner elements could be created.
    private let isComplete = Atomic<Bool>(false)

    static let log = DebugCategory("upright", "MediaGraph upright video")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.upright, typeName: "GstMediaGraphUpright", longName: "Upright video",
            classification: "Filter/Effect/Video",
            summary: "Turns and flips frames upright, by their rotation or the stream's image-orientation tag",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("sink", .sink, caps: "video/x-raw"), PadTemplate("src", .source, caps: "video/x-raw"),
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    override class var ownsChildErrors: Bool { true }

    required init(instance: ElementInstance) {
        let sink = instance.addGhostPad("sink")
        let source = instance.addGhostPad("src")
        super.init(instance: instance)
        // Converts formats that videoflip doesn't support, such as Y42B in GStreamer 1.22.
        guard let convert = Element(factory: "videoconvert", name: "convert"),
            let flip = Element(factory: "videoflip", name: "flip"), let inlet = convert.staticPad("sink"),
            let turning = flip.staticPad("sink"), let outlet = flip.staticPad("src")
        else { return }
        flip.configure("video-direction", parsing: "auto")
        for element in [convert, flip] { add(element) }
        _ = convert.staticPad("src")?.link(to: turning)
        sink.setTarget(inlet)
        source.setTarget(outlet)
        isComplete.store(true, ordering: .relaxed)
        let orientation = UprightTap(owner: WeakElement(instance), sink: sink)
        turning.setTap(orientation)
        outlet.setTap(TurnedTap(orientation))
        outlet.replaceOrientationTags(with: .upright)
    }

    override func changeState(_ change: StateChange) -> StateChangeResult {
        if case .nullToReady = change, !isComplete.load(ordering: .relaxed) {
            postError(
                .settings,
                "\(name): the element videoflip or videoconvert is missing; install gstreamer1.0-plugins-good "
                    + "and gstreamer1.0-plugins-base")
            return .failure
        }
        return super.changeState(change)
    }
}

/// Sends videoflip a tag with the next frame's orientation.
///
/// `@unchecked Sendable`: its state is used on the streaming thread only.
private final class UprightTap: PadTap, @unchecked Sendable {
    private let owner: WeakElement
    private let sink: GhostPad
    private var tagged = TaggedOrientation()
    private var isInterlaced = false
    /// The orientation that videoflip applies; `nil` if unknown, after a tag of the stream.
    private var applied: VideoOrientation? = .upright
    private var isSendingTag = false
    /// The orientation of the frame that is being turned.
    private(set) var current = VideoOrientation.upright

    init(owner: WeakElement, sink: GhostPad) {
        (self.owner, self.sink) = (owner, sink)
        super.init()
    }

    override func received(_ event: Event) -> Bool {
        switch event {
        case .streamStart:
            tagged = TaggedOrientation()
            // Some versions of videoflip keep the previous stream's tag.
            if applied != .upright { applied = nil }
        case .orientation(let tag) where !isSendingTag:
            tagged.add(tag, at: sink.pad)
            applied = nil
        case .caps(let caps): isInterlaced = VideoInfo(caps)?.isInterlaced == true
        default: break
        }
        return true
    }

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        current = tagged.orientation(of: buffer.access)
        guard current != applied else { return .ok }
        guard !isInterlaced || current == .upright else {
            // The lines of two fields, captured at two moments, would become columns or swap places.
            owner.postError(
                .notNegotiated, "\(owner.name): interlaced frames can't be turned",
                debug: "put deinterlace before \(owner.name)")
            return .notNegotiated
        }
        isSendingTag = true
        buffer.sendOrientationTag(current)
        isSendingTag = false
        applied = current
        return .ok
    }
}

/// Marks turned frames as upright, and adapts their mirror mode to the new orientation.
///
/// `@unchecked Sendable`: constant.
private final class TurnedTap: PadTap, @unchecked Sendable {
    private let turned: UprightTap

    init(_ turned: UprightTap) {
        self.turned = turned
        super.init()
    }

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        let orientation = turned.current
        guard orientation != .upright else { return .ok }
        let mirror = Flip(of: buffer.access)
        guard VideoOrientation(of: buffer.access) != nil || mirror != .none else { return .ok }
        buffer.makeWritable()
        VideoOrientation.upright.mark(buffer.access)
        if mirror != .none { Flip.meta.set(mirror.turned(by: orientation).rawValue, on: buffer.access) }
        return .ok
    }
}
