import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// The format to choose from a device, and the elements that convert it to what downstream accepts.
struct ConversionPlan: Sendable {
    /// The elements as a description; empty if no conversion is needed.
    private(set) var text = ""
    /// The chosen format, for messages; empty if the device's caps leave no choice.
    private(set) var format = ""

    /// Creates a plan. Throws `unsupported` if no format of the device can be converted.
    ///
    /// - Parameters:
    ///   - device: The device's display name, for errors.
    ///   - given: The caps of the open device.
    ///   - downstream: The caps that downstream accepts; `nil` for any.
    ///   - isFixed: Whether the output must have exactly the caps of `downstream`, because a stream with these caps
    ///     continues.
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
                .init(
                    device,
                    actual: "can't be converted to \(downstream.map { "\($0)" } ?? "raw video"); "
                        + "the device offers \(given)"))
        }
        format = "\(mode)"
        var elements = ["capsfilter caps=\"\(mode.caps)\""]
        if mode.mediaType == "video/x-raw" {
            // The device's caps may contain more fields than the mode, such as the colorimetry.
            elements += Self.conversions(of: [mode.caps.intersection(given)], mode.frameRate, downstream)
        } else if mode.mediaType == "image/jpeg", !wish.codings.contains(mode.mediaType) {
            elements += ["jpegdec"] + Self.conversions(of: mode.decodedJPEG, mode.frameRate, downstream)
        }
        text = elements.joined(separator: " ! ")
    }

    /// Returns the elements that convert each of these formats to one that downstream accepts. All fields are tested
    /// together, because each alone may fit another of downstream's structures.
    private static func conversions(of formats: [Caps], _ rate: Fraction, _ downstream: Caps?) -> [String] {
        guard let downstream, !formats.allSatisfy(downstream.canIntersect) else { return [] }
        // By default, videorate would fill the time before the first frame with copies of that frame.
        let rateConverter = "videorate skip-to-first=true"
        if formats.map({ $0.removing("framerate") }).allSatisfy(downstream.canIntersect) { return [rateConverter] }
        let keepsRate = downstream.canIntersect(Caps("video/x-raw, framerate=\(rate)")!)
        return (keepsRate ? [] : [rateConverter]) + ["videoconvertscale"]
    }
}

extension DeviceSourceElement: NodeTraits {
    static var sourceProperty: String? { "source" }

    static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps? {
        caps(source: element.value(of: "source") ?? "", kind: element.value(of: "kind") ?? DeviceKind.camera.nick)
    }

    /// Returns all caps that the node may output with these properties: the device's own formats, and what they can be
    /// converted to; `nil` if the properties don't tell.
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
        // A demuxer, for example, may output audio or video.
        guard let template = templates?.first, templates?.count == 1, template.presence == .always,
            let type = MediaType(template.caps)
        else { return nil }
        let given = template.caps
        return given.merged(with: type == .audio ? Caps("audio/x-raw")! : Caps("video/x-raw")!)
    }
}

/// The kind of stream that caps describe.
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

    /// Creates a media type from the source pad template of a factory; `nil` if the template doesn't tell.
    init?(givenBy factory: String) {
        let templates = ElementFactoryInfo.find(factory)?.padTemplates ?? []
        guard let type = templates.lazy.filter({ $0.direction == .source }).compactMap({ Self($0.caps) }).first else {
            return nil
        }
        self = type
    }
}

extension Caps {
    /// The caps that a stream must keep when it continues with another device: format, size and rate, but not
    /// colorimetry.
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

    /// Returns the format in which a stream starts without its device, from what downstream accepts.
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
