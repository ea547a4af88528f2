import GStreamer
import MediaGraphCore

/// Marks every frame with a text, a clock or a picture:
/// `preprocessor handler=watermark options="text=\"on air\",clock=%T"`.
///
/// GStreamer renders the mark (`textoverlay` or `pngdec`) when the graph starts, and a clock again each time its text
/// changes. The mark is scaled when the format or size of the frames changes, and blended by
/// `GstVideoOverlayComposition`. The clock shows a frame's time of capture, or the current time if the frame has none.
/// The mark makes transparent parts of a frame opaque. Its position refers to the frame as it is stored, before
/// rotation.
///
/// Throws `unsupported` with the Debian package if an element is missing, and `invalidParameter` if the text can't be
/// drawn or the picture can't be read.
struct Watermark: VideoProcessor, NamedHandler {
    static let name = "watermark"
    static let summary = "Marks every frame with a text, a clock or a picture"
    static let options = [
        HandlerOption("text", default: "MediaGraph", "one line of at most 64 characters"),
        HandlerOption(
            "clock", default: "none",
            "the local time of capture after the text, in strftime's format: %H:%M:%S, or %F %T with the date"),
        HandlerOption("image", default: "none", isInput: true, "a PNG file instead of the text; it may have alpha"),
        HandlerOption(
            "corner", default: "bottom-right", "top-left, top-right, bottom-left, bottom-right or center"),
        HandlerOption("x", default: "by corner", "left edge in pixels of the frame, with y instead of corner"),
        HandlerOption("y", default: "by corner", "top edge in pixels of the frame, with x instead of corner"),
        HandlerOption("size", default: "0.06", "the mark's height, 0.01 to 1 of the frame's; less if it is too wide"),
        HandlerOption("opacity", default: "0.6", "from 0 (invisible) to 1 (opaque)"),
    ]

    private enum Corner: String, CaseIterable {
        case topLeft = "top-left"
        case topRight = "top-right"
        case bottomLeft = "bottom-left"
        case bottomRight = "bottom-right"
        case center
    }

    private var picture: Picture
    private var clock: ClockText?
    private let corner: Corner
    private let position: (x: Int, y: Int)?
    private let size: Double
    private let opacity: Double
    private var fitted: (info: VideoInfo, overlay: Overlay)?

    /// The values of the options. Nothing has been drawn.
    private struct Settings {
        let corner: Corner
        let position: (x: Int, y: Int)?
        let size: Double
        let opacity: Double
        let text: String?
        let clock: String?
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
                    .init("options of watermark", actual: "only one of x and y is set; set both, or neither"))
            }
            position = x < 0 ? nil : (x, y)
            text = options.text("text")
            clock = options.text("clock")
            image = options.text("image")
            guard image == nil || (text == nil && clock == nil) else {
                throw MediaGraphError.invalidParameter(
                    .init(
                        "options of watermark",
                        actual: "image can't be combined with text or clock; set one or the other"))
            }
            if let text { try ClockText.check(text) }
        }
    }

    static func validate(_ options: HandlerOptions) throws { _ = try Settings(options) }

    init(options: HandlerOptions) throws {
        let settings = try Settings(options)
        (corner, position, size, opacity) = (settings.corner, settings.position, settings.size, settings.opacity)
        if let image = settings.image {
            picture = try Picture.load(image, for: Self.name)
        } else if let format = settings.clock {
            let clock = try ClockText(settings.text, format)
            (picture, self.clock) = (try clock.picture, clock)
        } else {
            picture = try ClockText.draw(settings.text ?? "MediaGraph", with: TextRenderer.forMarks())
        }
    }

    mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
        guard opacity > 0 else { return .pass }
        let info = frame.info
        if let changed = try clock?.picture(atUnixNanoseconds: frame.captureUnixNanoseconds) {
            picture = changed
            fitted = nil
        }
        if fitted?.info != info {
            guard let overlay = Overlay(picture, onto: info, at: place(in: info), opacity: opacity) else {
                throw MediaGraphError.allocationFailed(
                    .init("watermark", actual: "out of memory for frames of \(info.width)×\(info.height)"))
            }
            fitted = (info, overlay)
        }
        guard fitted!.overlay.blend(onto: &frame.mapped) else {
            throw MediaGraphError.unsupported(
                .init("watermark", actual: "can't mark frames of the format \(info.formatName)"))
        }
        return .pass
    }

    /// Returns the mark's position and size. The margin to the frame's edges is 1/50 of the frame's height.
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
        // At an even position, the chroma samples of the mark coincide with those of the frame.
        (place.x, place.y) = (x & ~1, y & ~1)
        return place
    }
}
