import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `upright`: turns and flips frames so that they stand upright, for encoders and sinks that know nothing of orientation.
///
/// A bin around the stock `videoflip`, which goes by tags: it is told in a tag what each frame's meta says. Frames leave
/// without an orientation, and so does the stream: the tags behind it say `rotate-0`.
final class UprightElement: BinElement, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and an atomic.

    /// The elements that it is made of are there.
    private let isWhole = Atomic<Bool>(false)

    static let log = DebugCategory("upright", "MediaGraph upright video")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.upright, typeName: "GstMediaGraphUpright", longName: "Upright video",
            classification: "Filter/Effect/Video",
            summary: "Turns and flips frames upright, as their rotation or the stream's image-orientation tag says",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("sink", .sink, caps: "video/x-raw"), PadTemplate("src", .source, caps: "video/x-raw"),
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    override class var speaksForChildren: Bool { true }

    required init(instance: ElementInstance) {
        let sink = instance.addGhostPad("sink")
        let source = instance.addGhostPad("src")
        super.init(instance: instance)
        // Passes frames through in the formats that videoflip takes, which Y42B isn't of in GStreamer 1.22.
        guard let convert = Element(factory: "videoconvert", name: "convert"),
            let flip = Element(factory: "videoflip", name: "flip"), let inlet = convert.staticPad("sink"),
            let turning = flip.staticPad("sink"), let outlet = flip.staticPad("src")
        else { return }
        try? flip.setProperty("video-direction", parsing: "auto")
        for element in [convert, flip] { add(element) }
        _ = convert.staticPad("src")?.link(to: turning)
        sink.setTarget(inlet)
        source.setTarget(outlet)
        isWhole.store(true, ordering: .relaxed)
        let orientation = UprightTap(owner: WeakElement(instance), sink: sink)
        turning.setTap(orientation)
        outlet.setTap(TurnedTap(orientation))
        outlet.replaceOrientationTags(with: .upright)
    }

    override func changeState(_ change: StateChange) -> StateChangeResult {
        if case .nullToReady = change, !isWhole.load(ordering: .relaxed) {
            postError(
                .settings, "\(name): the element videoflip is missing; install the package gstreamer1.0-plugins-good")
            return .failure
        }
        return super.changeState(change)
    }
}

/// Tells videoflip in a tag how the frame lies that comes next.
///
/// `@unchecked Sendable`: its state is the streaming thread's.
private final class UprightTap: PadTap, @unchecked Sendable {
    private let owner: WeakElement
    private let sink: GhostPad
    private var tagged = TaggedOrientation()
    private var isInterlaced = false
    /// What videoflip goes by; `nil` after it has had a tag of the stream's.
    private var told: VideoOrientation? = .upright
    private var isTelling = false
    /// How the frame lay that is being turned.
    private(set) var current = VideoOrientation.upright

    init(owner: WeakElement, sink: GhostPad) {
        (self.owner, self.sink) = (owner, sink)
        super.init()
    }

    override func received(_ event: Event) -> Bool {
        switch event {
        case .streamStart:
            tagged = TaggedOrientation()
            // Not every version forgets the tag of the stream before.
            if told != .upright { told = nil }
        case .orientation(let tag) where !isTelling:
            tagged.add(tag, at: sink.pad)
            told = nil
        case .caps(let caps): isInterlaced = VideoInfo(caps)?.isInterlaced == true
        default: break
        }
        return true
    }

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        current = tagged.orientation(of: buffer.access)
        guard current != told else { return .ok }
        guard !isInterlaced || current == .upright else {
            // Lines of two moments would become columns, or change places.
            owner.postError(
                .notNegotiated, "\(owner.name): interlaced frames can't be turned",
                debug: "put deinterlace before \(owner.name)")
            return .notNegotiated
        }
        isTelling = true
        buffer.sendAhead(current)
        isTelling = false
        told = current
        return .ok
    }
}

/// What has been turned says so.
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
