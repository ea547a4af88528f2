import GStreamer
import MediaGraphCore

/// Blurs a rectangle of each frame, or the whole frame:
/// `preprocessor handler=blur options="radius=24,x=0.3,width=0.4"`.
///
/// GStreamer's converter scales the rectangle down and up again, so details finer than `radius` pixels are removed and
/// can't be restored. The rectangle is given in fractions of the frame and extended to whole pixels (to even ones if
/// chroma has half the resolution). No byte outside it changes. Alpha inside it is blurred like the colors. The
/// rectangle refers to the frame as it is stored, before rotation.
struct Blur: VideoProcessor, NamedHandler {
    static let name = "blur"
    static let summary = "Blurs a rectangle of each frame, or the whole frame"
    static let options =
        [HandlerOption("radius", default: "16", "strength of the blur in pixels, 1 to 256")] + FrameArea.options

    private let radius: Int
    private let area: FrameArea
    private var fitted: (info: VideoInfo, blur: RegionBlur)?

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        radius = try options.int("radius", in: 1...256, default: 16)
        area = try FrameArea(options)
    }

    mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
        let (columns, rows) = area.pixels(width: frame.width, height: frame.height, even: frame.format.isYUV)
        guard !columns.isEmpty, !rows.isEmpty else { return .pass }
        let info = frame.info
        if fitted?.info != info {
            let region = VideoConverter.Rectangle(
                x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
            guard let blur = RegionBlur(info, region: region, radius: radius) else {
                throw MediaGraphError.unsupported(
                    .init("blur", actual: "can't blur frames of the format \(info.formatName)"))
            }
            fitted = (info, blur)
        }
        guard fitted!.blur.apply(to: &frame.mapped) else {
            throw MediaGraphError.allocationFailed(.init("blur", actual: "out of memory"))
        }
        return .pass
    }
}
