import GStreamer
import MediaGraphCore

/// A small picture in packed RGB.
struct Thumbnail {
    let width: Int
    let height: Int
    let pixels: [UInt8]
}

/// Makes upright thumbnails of frames with one format, size and orientation, using GStreamer's converter.
final class Scaler {
    let input: VideoInfo
    let orientation: VideoOrientation
    /// The format of the scaled picture before it is rotated upright.
    private let output: VideoInfo
    /// The scaled picture's format without interlacing and pixel aspect ratio, which a thumbnail doesn't need.
    private let plain: VideoInfo
    private let converter: VideoConverter

    init(
        _ input: VideoInfo, _ orientation: VideoOrientation, within bounds: (width: Int, height: Int)
    ) throws(MediaGraphError) {
        let upright = Self.size(of: input, orientation, within: bounds)
        let size = orientation.swapsSides ? (upright.height, upright.width) : upright
        guard let output = input.converted(to: .rgb24, size: size, squarePixels: true),
            let plain = VideoInfo(.rgb24, width: output.width, height: output.height),
            let converter = VideoConverter(from: input, to: output, isSmooth: true)
        else {
            throw .unsupported(.init("thumbnail", actual: "video of the format \(input.caps) can't be scaled"))
        }
        self.input = input
        self.orientation = orientation
        self.output = output
        self.plain = plain
        self.converter = converter
    }

    /// Returns the largest size within `bounds` of the upright picture, with square pixels and the frame's aspect
    /// ratio.
    static func size(
        of info: VideoInfo, _ orientation: VideoOrientation, within bounds: (width: Int, height: Int)
    ) -> (width: Int, height: Int) {
        let pixelAspect = info.pixelAspectRatio.value > 0 ? info.pixelAspectRatio.value : 1
        let lying = Double(info.width) * pixelAspect / Double(info.height)
        let aspect = orientation.swapsSides ? 1 / lying : lying
        let width = min(Double(bounds.width), Double(bounds.height) * aspect)
        return (
            max(1, min(bounds.width, Int(width.rounded()))), max(1, min(bounds.height, Int((width / aspect).rounded())))
        )
    }

    func thumbnail(of frame: borrowing VideoFrame) throws(MediaGraphError) -> Thumbnail {
        guard let scaled = converter.convert(frame.mapped) else { throw Self.outOfMemory }
        guard orientation != .upright else { return try thumbnail(scaled, output.width, output.height) }
        let turned: Buffer
        do { turned = try BufferFilter.turned(scaled, plain, by: orientation) } catch {
            throw .unsupported(.init("thumbnail", actual: "can't be rotated: \(error)"))
        }
        let (width, height) = orientation.swapsSides ? (output.height, output.width) : (output.width, output.height)
        return try thumbnail(turned, width, height)
    }

    private func thumbnail(
        _ buffer: consuming Buffer, _ width: Int, _ height: Int
    ) throws(MediaGraphError) -> Thumbnail {
        let rowLength = width * 3
        let pixels = VideoInfo(.rgb24, width: width, height: height).flatMap { info in
            buffer.access.withVideoFrame(info, .read) { mapped in
                let bytes = mapped.bytes(plane: 0, rows: height, rowBytes: rowLength)
                let stride = mapped.stride(plane: 0)
                var pixels: [UInt8] = []
                pixels.reserveCapacity(rowLength * height)
                for y in 0..<height {
                    for x in 0..<rowLength { pixels.append(bytes[y * stride + x]) }
                }
                return pixels
            }
        }
        guard let pixels else { throw Self.outOfMemory }
        return Thumbnail(width: width, height: height, pixels: pixels)
    }

    private static var outOfMemory: MediaGraphError { .allocationFailed(.init("thumbnail", actual: "out of memory")) }
}

/// The picture of a contact sheet: a grid of cells on a black background, with gaps between them.
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

    /// Draws a thumbnail in the center of its cell.
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
