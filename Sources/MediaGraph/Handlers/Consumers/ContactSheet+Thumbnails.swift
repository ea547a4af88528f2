import GStreamer

/// A small picture in packed RGB.
struct Thumbnail {
    let width: Int
    let height: Int
    let pixels: [UInt8]
}

/// Makes thumbnails of frames of one format and size, with GStreamer's converter.
final class Scaler {
    let input: VideoInfo
    private let output: VideoInfo
    private let converter: VideoConverter

    init(_ input: VideoInfo, within bounds: (width: Int, height: Int)) throws(MediaGraphError) {
        let size = Self.size(of: input, within: bounds)
        guard let output = input.converted(to: .rgb24, size: size, squarePixels: true),
            let converter = VideoConverter(from: input, to: output, isSmooth: true)
        else {
            throw .unsupported(.init("a thumbnail", expected: "video that can be scaled", actual: "\(input.caps)"))
        }
        self.input = input
        self.output = output
        self.converter = converter
    }

    /// The largest size with the frame's aspect and square pixels.
    static func size(of info: VideoInfo, within bounds: (width: Int, height: Int)) -> (width: Int, height: Int) {
        let pixelAspect = info.pixelAspectRatio.value > 0 ? info.pixelAspectRatio.value : 1
        let aspect = Double(info.width) * pixelAspect / Double(info.height)
        let width = min(Double(bounds.width), Double(bounds.height) * aspect)
        return (
            max(1, min(bounds.width, Int(width.rounded()))), max(1, min(bounds.height, Int((width / aspect).rounded())))
        )
    }

    func thumbnail(of frame: borrowing VideoFrame) throws(MediaGraphError) -> Thumbnail {
        guard let buffer = converter.convert(frame.mapped) else { throw .allocationFailed(.init("a thumbnail")) }
        let rowLength = output.width * 3
        let pixels = buffer.access.withVideoFrame(output, .read) { mapped in
            let bytes = mapped.bytes(plane: 0, rows: output.height, rowBytes: rowLength)
            let stride = mapped.stride(plane: 0)
            var pixels: [UInt8] = []
            pixels.reserveCapacity(rowLength * output.height)
            for y in 0..<output.height {
                for x in 0..<rowLength { pixels.append(bytes[y * stride + x]) }
            }
            return pixels
        }
        guard let pixels else { throw .allocationFailed(.init("a thumbnail")) }
        return Thumbnail(width: output.width, height: output.height, pixels: pixels)
    }
}

/// The sheet: cells in a grid on black, with a gap between them.
struct Sheet {
    private static let gap = 4
    private let cell: (width: Int, height: Int)
    let width: Int
    let height: Int
    /// Packed RGB.
    private(set) var pixels: [UInt8]

    init(columns: Int, rows: Int, cell: (width: Int, height: Int)) {
        self.cell = cell
        width = columns * (cell.width + Self.gap) + Self.gap
        height = rows * (cell.height + Self.gap) + Self.gap
        pixels = [UInt8](repeating: 0, count: width * height * 3)
    }

    /// In the middle of its cell.
    mutating func paste(_ thumbnail: Thumbnail, column: Int, row: Int) {
        let left = Self.gap + column * (cell.width + Self.gap) + (cell.width - thumbnail.width) / 2
        let top = Self.gap + row * (cell.height + Self.gap) + (cell.height - thumbnail.height) / 2
        for y in 0..<thumbnail.height {
            let start = ((top + y) * width + left) * 3
            pixels.replaceSubrange(
                start..<start + thumbnail.width * 3,
                with: thumbnail.pixels[y * thumbnail.width * 3..<(y + 1) * thumbnail.width * 3])
        }
    }
}
