import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// Which of a device's formats to take, and which elements make of it what downstream takes; none where it takes it as it is.
struct ConversionPlan: Sendable {
    /// The elements, as a description; empty for none.
    private(set) var text = ""
    /// What was picked, for people; empty where the device's caps leave nothing to pick.
    private(set) var format = ""

    /// - Parameters:
    ///   - given: what the device gives, now that it is open.
    ///   - downstream: what is wanted; `nil` for anything.
    ///   - isFixed: whether the stream goes on that had these caps, so that nothing but them will do.
    init(_ device: String, from given: Caps, to downstream: Caps?, isFixed: Bool) throws(MediaGraphError) {
        switch MediaType(given) ?? downstream.flatMap(MediaType.init) {
        case .video: try planVideo(device, given, downstream)
        case .audio:
            if isFixed || !(downstream?.canIntersect(given) ?? true) { text = "audioconvert ! audioresample" }
        case nil: break
        }
        if isFixed, let downstream {
            text += (text.isEmpty ? "" : " ! ") + "capsfilter caps=\"\(downstream)\""
        }
    }

    private mutating func planVideo(
        _ device: String, _ given: Caps, _ downstream: Caps?
    ) throws(MediaGraphError) {
        let wish = CameraWish(downstream)
        let modes = CameraMode.all(in: given)
        guard !modes.isEmpty else {
            if let downstream, !downstream.canIntersect(given) {
                text = "videorate skip-to-first=true ! videoconvertscale"
            }
            return
        }
        guard let mode = wish.pick(from: modes) else {
            throw .unsupported(
                .init(device, expected: "\(downstream.map { "\($0)" } ?? "raw video")", actual: "\(given)"))
        }
        format = "\(mode)"
        var elements = ["capsfilter caps=\"\(mode.caps)\""]
        let isTaken = downstream.map { mode.caps.canIntersect($0) } ?? true
        if mode.mediaType == "video/x-raw" {
            if !isTaken { elements += Self.conversions(mode, wish, downstream) }
        } else if mode.mediaType == "image/jpeg", !wish.codings.contains(mode.mediaType) {
            elements += ["jpegdec"] + Self.conversions(mode, wish, downstream)
        }
        text = elements.joined(separator: " ! ")
    }

    private static func conversions(_ mode: PickedMode, _ wish: CameraWish, _ downstream: Caps?) -> [String] {
        guard let downstream else { return [] }
        func fits(_ fields: String) -> Bool { Caps("video/x-raw, \(fields)")!.canIntersect(downstream) }
        var elements: [String] = []
        // It would fill the time before the first frame with copies of it.
        if !fits("framerate=\(mode.frameRate)") { elements.append("videorate skip-to-first=true") }
        // JPEG's decoder gives I420, and of grey pictures GRAY8.
        let pixels = mode.pixels.map { [$0] } ?? ["I420", "GRAY8"]
        let size = "width=\(mode.width), height=\(mode.height)"
        if !pixels.allSatisfy({ fits("format=\($0), \(size)") }) { elements.append("videoconvertscale") }
        return elements
    }
}

extension DeviceSourceElement: NodeTraits {
    static var sourceProperty: String? { "source" }

    static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps? {
        caps(source: element.value(of: "source") ?? "", kind: element.value(of: "kind") ?? DeviceKind.camera.nick)
    }

    /// All that it can give by its properties: the device's own formats, and what is made of them; `nil` where these say nothing.
    static func caps(source: String, kind: String) -> Caps? {
        let factory: String?
        if source.isEmpty {
            switch DeviceKind(nick: kind) {
            case .camera: factory = "v4l2src"
            case .microphone: factory = "alsasrc"
            case .screen: factory = ScreenCapture.factory
            case nil: return nil
            }
        } else {
            factory = Description(source).resolved().outline.elements.last?.factory
        }
        let templates = factory.flatMap { ElementFactoryInfo.find($0) }?.padTemplates.filter { $0.direction == .source }
        // A demultiplexer may give either.
        guard let template = templates?.first, templates?.count == 1, template.presence == .always,
            let type = MediaType(template.caps)
        else { return nil }
        let given = template.caps
        return given.merged(with: type == .audio ? Caps("audio/x-raw")! : Caps("video/x-raw")!)
    }
}

/// What kind of stream caps describe.
enum MediaType: Sendable {
    case video, audio

    init?(_ caps: Caps) {
        guard !caps.isAny, !caps.isEmpty else { return nil }
        let name = caps[0].name
        if name.hasPrefix("audio/") {
            self = .audio
        } else if name.hasPrefix("video/") || name.hasPrefix("image/") {
            self = .video
        } else {
            return nil
        }
    }

    /// By what its source pad may give.
    init?(givenBy factory: String) {
        let templates = ElementFactoryInfo.find(factory)?.padTemplates ?? []
        guard let type = templates.lazy.filter({ $0.direction == .source }).compactMap({ Self($0.caps) }).first else {
            return nil
        }
        self = type
    }
}

extension Caps {
    /// Caps of a stream that may go on with another device: its format, size and rate, and not how colours are meant.
    var continuable: Caps {
        if let info = VideoInfo(self) {
            let size = "width=\(info.width), height=\(info.height)"
            return Caps("video/x-raw, format=\(info.formatName), \(size), framerate=\(info.framesPerSecond)")!
        }
        if let info = AudioInfo(self) {
            let channels = "layout=interleaved, rate=\(info.rate), channels=\(info.channels)"
            return Caps("audio/x-raw, format=\(info.formatName), \(channels)")!
        }
        return self
    }

    /// The format in which a stream of this kind begins that no device has begun, by what downstream takes.
    static func beginning(_ type: MediaType, _ downstream: Caps?) -> Caps? {
        let usual: Caps
        switch type {
        case .video:
            let rate = "framerate=(fraction)[1/1000, 1000/1]"
            usual = Caps("video/x-raw, format=I420, \(rate); video/x-raw, \(rate)")!
        case .audio: usual = Caps("audio/x-raw, format=S16LE, layout=interleaved; audio/x-raw, layout=interleaved")!
        }
        let allowed = downstream.map { usual.intersection($0) } ?? usual
        switch type {
        case .video:
            let wish = CameraWish(downstream)
            return allowed.fixated(
                near: [("width", wish.width), ("height", wish.height)], frameRate: wish.frameRate)?.continuable
        case .audio: return allowed.fixated(near: [("rate", 48000), ("channels", 1)])?.continuable
        }
    }
}
