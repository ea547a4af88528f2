import GStreamer
import MediaGraphCore

/// Blurs a rectangle, or all of it: `preprocessor handler=blur options="radius=24,x=0.3,width=0.4"`.
///
/// GStreamer's converter makes the rectangle small and large again, so what was finer than `radius` pixels is gone, not
/// just hard to see. The rectangle is given in fractions of the frame and grows to whole pixels (to even ones, where
/// chroma has half the resolution); outside of it no byte changes. Alpha inside is blurred with the colours. Works on the
/// frame as it lies, before rotation.
struct Blur: VideoProcessor, NamedHandler {
    static let name = "blur"
    static let summary = "Blurs a rectangle, or all of it"
    static let options =
        [HandlerOption("radius", default: "16", "how much, in pixels: 1 to 256")] + FrameArea.options

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
                throw MediaGraphError.unsupported(.init("blur", actual: info.formatName))
            }
            fitted = (info, blur)
        }
        guard fitted!.blur.apply(to: &frame.mapped) else {
            throw MediaGraphError.allocationFailed(.init("blur", expected: "memory for a small frame"))
        }
        return .pass
    }
}
