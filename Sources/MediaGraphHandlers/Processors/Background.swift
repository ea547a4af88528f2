import GStreamer
import MediaGraphCore

/// Replaces the background behind a person: fills the transparent parts of a frame with a color, a picture, or the
/// blurred frame itself: `alphachannel enabled=true ! preprocessor handler=background options="image=office.png"`.
///
/// Accepts formats with alpha, and makes their frames opaque (except where the picture is transparent). Also accepts
/// I420, which `alphachannel` outputs while it is off: such a frame has nothing to fill and isn't changed. A picture is
/// centered and scaled to cover the frame, and keeps its aspect ratio. GStreamer blends it (`gst_video_blend`) with the
/// frame as it is stored, before rotation.
///
/// Throws `invalidParameter` if the picture can't be read, and `unsupported` if its decoder is missing, both before the
/// first frame.
struct Background: VideoProcessor, NamedHandler {
    static let name = "background"
    static let summary = "Fills transparent parts with a color, a picture, or the blurred frame"
    static let options = [
        HandlerOption("color", default: "202020", "red, green and blue, as six hexadecimal digits"),
        HandlerOption("image", default: "none", isInput: true, "a PNG file instead of the color"),
        HandlerOption("blur", default: "none", "the blurred frame instead; strength in pixels, 1 to 256"),
    ]
    static let formats: [VideoFormat] = [.a420, .bgra, .rgba, .argb, .abgr, .i420]

    /// The values of the options. No file has been read.
    private enum Settings {
        case color(UInt32), image(String), blur(radius: Int)

        init(_ options: HandlerOptions) throws(MediaGraphError) {
            let color = options.text("color")
            let image = options.text("image")
            let radius = try options.int("blur", in: 1...256, default: 0)
            let given = [color.map { _ in "color" }, image.map { _ in "image" }, radius > 0 ? "blur" : nil]
                .compactMap(\.self)
            guard given.count < 2 else {
                throw MediaGraphError.invalidParameter(
                    .init(
                        "options of background",
                        actual: "\(given.joined(separator: " and ")) exclude each other; set only one"))
            }
            if let image {
                self = .image(image)
            } else if radius > 0 {
                self = .blur(radius: radius)
            } else {
                self = .color(try Self.value(color ?? "202020"))
            }
        }

        private static func value(_ color: String) throws(MediaGraphError) -> UInt32 {
            guard color.utf8.count == 6, let value = UInt32(color, radix: 16) else {
                throw .invalidParameter(
                    .init(
                        "option color of background", expected: "six hexadecimal digits, such as 00b140",
                        actual: "\"\(color)\""))
            }
            return value
        }
    }

    private enum Content {
        case picture(Picture)
        case blur(radius: Int)
    }

    private let content: Content
    private var fitted: (info: VideoInfo, backdrop: Backdrop)?

    static func validate(_ options: HandlerOptions) throws { _ = try Settings(options) }

    init(options: HandlerOptions) throws {
        switch try Settings(options) {
        case .color(let color):
            guard let picture = Picture(color: color) else {
                throw MediaGraphError.allocationFailed(.init("background", actual: "out of memory"))
            }
            content = .picture(picture)
        case .image(let path): content = .picture(try Picture.load(path, for: Self.name))
        case .blur(let radius): content = .blur(radius: radius)
        }
    }

    mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
        let info = frame.info
        guard info.hasAlpha else { return .pass }
        if fitted?.info != info {
            let backdrop =
                switch content {
                case .picture(let picture): Backdrop(picture, behind: info)
                case .blur(let radius): Backdrop(blurring: info, radius: radius)
                }
            guard let backdrop else {
                throw MediaGraphError.allocationFailed(
                    .init("background", actual: "out of memory for frames of \(info.width)×\(info.height)"))
            }
            fitted = (info, backdrop)
        }
        guard fitted!.backdrop.fill(behind: &frame.mapped) else {
            throw MediaGraphError.unsupported(
                .init("background", actual: "can't fill frames of the format \(info.formatName)"))
        }
        return .pass
    }
}

extension Picture {
    /// Loads the PNG file that a handler's option `image` names.
    static func load(_ path: String, for handler: String) throws(MediaGraphError) -> Picture {
        let option = "option image of \(handler)"
        // Open the file here, because the decoder's errors don't name the file.
        var file = try ByteReader(path: path == "-" ? "./-" : path, option: option, interruption: Interruption())
        if let (width, height) = try sizeInHeader(&file), max(width, height) > Self.largestSide {
            throw .invalidParameter(
                .init(
                    option, expected: "a picture of at most \(largestSide)×\(largestSide) pixels",
                    actual: "\(file.name) (\(width)×\(height))"))
        }
        do { return try Picture(pngFile: path) } catch {
            if case .missingElement = error { throw refusal(error, handler, "image") }
            throw .invalidParameter(.init(option, actual: "\(file.name) can't be read: \(error)"))
        }
    }

    /// The largest width and height. Pictures are kept decoded, and the byte count of a very large one overflows in
    /// GStreamer's converters, which then crash.
    private static let largestSide = 8192

    /// Returns the size in the header of a PNG file, without decoding it; `nil` for other files.
    private static func sizeInHeader(_ file: inout ByteReader) throws(MediaGraphError) -> (width: Int, height: Int)? {
        guard file.isRegularFile else { return nil }
        var header = [UInt8](repeating: 0, count: 24)
        var filled = 0
        guard try file.read(into: &header, filled: &filled) == .complete,
            header.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        else { return nil }
        func number(at offset: Int) -> Int { header[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        return (number(at: 16), number(at: 20))
    }

    /// Returns the error for a picture that can't be drawn from the value of a handler's option.
    static func refusal(_ failure: Failure, _ handler: String, _ option: String) -> MediaGraphError {
        if case .missingElement = failure { return .unsupported(.init(handler, actual: "\(failure)")) }
        return .invalidParameter(.init("option \(option) of \(handler)", actual: "can't be drawn: \(failure)"))
    }
}
