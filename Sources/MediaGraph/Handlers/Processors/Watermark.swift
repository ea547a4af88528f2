import GStreamer

/// Marks every frame with a text or a picture: `preprocessor handler=watermark options="text=\"on air\",corner=top-left"`.
///
/// The mark is rendered once, when the graph starts, by GStreamer (`textoverlay` or `pngdec`), fitted to the frames when
/// their format or size changes, and blended by `GstVideoOverlayComposition`. Where a frame is transparent the mark makes
/// it opaque. It lies in the frame as it is stored, before rotation.
///
/// A missing element is `unsupported` with its Debian package, a text that can't be drawn or a picture that can't be read
/// `invalidParameter`.
struct Watermark: VideoProcessor, NamedHandler {
    static let name = "watermark"
    static let summary = "Marks every frame with a text or a picture"
    static let options = [
        HandlerOption("text", default: "MediaGraph", "one line of at most 64 characters"),
        HandlerOption("image", default: "none", "a PNG file instead of the text; its alpha counts"),
        HandlerOption(
            "corner", default: "bottom-right", "top-left, top-right, bottom-left, bottom-right or center"),
        HandlerOption("x", default: "by corner", "left edge in pixels of the frame, with y instead of corner"),
        HandlerOption("y", default: "by corner", "top edge in pixels of the frame, with x instead of corner"),
        HandlerOption("size", default: "0.06", "the mark's height, 0.01 to 1 of the frame's; less if too wide"),
        HandlerOption("opacity", default: "0.6", "0, invisible, to 1"),
    ]

    private enum Corner: String, CaseIterable {
        case topLeft = "top-left"
        case topRight = "top-right"
        case bottomLeft = "bottom-left"
        case bottomRight = "bottom-right"
        case center
    }

    private let picture: Picture
    private let corner: Corner
    private let position: (x: Int, y: Int)?
    private let size: Double
    private let opacity: Double
    private var fitted: (info: VideoInfo, overlay: Overlay)?

    /// What the options say, before anything is drawn.
    private struct Settings {
        let corner: Corner
        let position: (x: Int, y: Int)?
        let size: Double
        let opacity: Double
        let text: String
        let image: String?

        init(_ options: HandlerOptions) throws {
            corner = try options.choice("corner", default: .bottomRight)
            size = try options.double("size", in: 0.01...1, default: 0.06)
            opacity = try options.double("opacity", in: 0...1, default: 0.6)
            let (x, y) = (
                try options.int("x", in: 0...16383, default: -1), try options.int("y", in: 0...16383, default: -1)
            )
            guard (x < 0) == (y < 0) else {
                throw MediaGraphError.invalidParameter(
                    .init("options of watermark", expected: "both x and y, or neither", actual: "one of them"))
            }
            position = x < 0 ? nil : (x, y)
            let text = options.text("text")
            image = options.text("image")
            guard text == nil || image == nil else {
                throw MediaGraphError.invalidParameter(
                    .init("options of watermark", expected: "text or image", actual: "both"))
            }
            self.text = text ?? "MediaGraph"
            if image == nil { try Watermark.check(self.text) }
        }
    }

    static func validate(_ options: HandlerOptions) throws { _ = try Settings(options) }

    init(options: HandlerOptions) throws {
        let settings = try Settings(options)
        (corner, position, size, opacity) = (settings.corner, settings.position, settings.size, settings.opacity)
        picture = try settings.image.map(Self.load) ?? Self.draw(settings.text)
    }

    private static func check(_ text: String) throws(MediaGraphError) {
        guard 1...64 ~= text.count, !text.contains(where: \.isNewline) else {
            throw .invalidParameter(
                .init(
                    "option text of watermark", expected: "one line of 1 to 64 characters",
                    actual: text.contains(where: \.isNewline) ? "several lines" : "\(text.count)"))
        }
    }

    private static func draw(_ text: String) throws(MediaGraphError) -> Picture {
        do { return try Picture(text: text) } catch {
            throw refusal(error, "option text of watermark", "a text that can be seen and a font to draw it with")
        }
    }

    private static func load(_ path: String) throws(MediaGraphError) -> Picture {
        do { return try Picture(pngFile: path) } catch {
            throw refusal(error, "option image of watermark", "a PNG file with something to see")
        }
    }

    private static func refusal(_ failure: Picture.Failure, _ subject: String, _ expected: String) -> MediaGraphError {
        if case .missingElement = failure { return .unsupported(.init("watermark", actual: "\(failure)")) }
        return .invalidParameter(.init(subject, expected: expected, actual: "\(failure)"))
    }

    mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
        guard opacity > 0 else { return .pass }
        let info = frame.info
        if fitted?.info != info {
            guard let overlay = Overlay(picture, onto: info, at: place(in: info), opacity: opacity) else {
                throw MediaGraphError.allocationFailed(.init("the mark for \(info.width)×\(info.height)"))
            }
            fitted = (info, overlay)
        }
        guard fitted!.overlay.blend(onto: &frame.mapped) else {
            throw MediaGraphError.unsupported(.init("watermark", actual: info.formatName))
        }
        return .pass
    }

    /// Where the mark goes: a margin of a 50th of the height keeps it from the frame's edges.
    private func place(in info: VideoInfo) -> VideoConverter.Rectangle {
        let visible = picture.visible
        let pixelAspect = info.pixelAspectRatio.value > 0 ? info.pixelAspectRatio.value : 1
        let aspect = Double(visible.width) / Double(visible.height) / pixelAspect
        var height = size * Double(info.height)
        var width = height * aspect
        if width > Double(info.width) {
            height *= Double(info.width) / width
            width = Double(info.width)
        }
        var place = VideoConverter.Rectangle(
            x: 0, y: 0, width: max(1, Int(width.rounded())), height: max(1, Int(height.rounded())))
        let margin = info.height / 50
        let (right, bottom) = (info.width - place.width, info.height - place.height)
        let (x, y) =
            if let position { position } else {
                switch corner {
                case .topLeft: (min(margin, right), min(margin, bottom))
                case .topRight: (max(0, right - margin), min(margin, bottom))
                case .bottomLeft: (min(margin, right), max(0, bottom - margin))
                case .bottomRight: (max(0, right - margin), max(0, bottom - margin))
                case .center: (right / 2, bottom / 2)
                }
            }
        // On even pixels chroma and luma of the mark coincide.
        (place.x, place.y) = (x & ~1, y & ~1)
        return place
    }
}
