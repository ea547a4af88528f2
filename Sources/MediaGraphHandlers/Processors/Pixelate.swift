import GStreamer
import MediaGraphCore

/// Hides a rectangle of each frame behind coarse blocks:
/// `preprocessor handler=pixelate options="block=24,x=0.3,width=0.4"`.
///
/// Every block gets the mean of its pixels. The rectangle is given in fractions of the frame, so it doesn't depend on
/// the frame's size. It is extended to whole pixels (to even ones if chroma has half the resolution). No byte outside
/// it changes. Alpha stays. The rectangle refers to the frame as it is stored, before rotation.
struct Pixelate: VideoProcessor, NamedHandler {
    static let name = "pixelate"
    static let summary = "Hides a rectangle of each frame, or the whole frame, behind coarse blocks"
    static let options =
        [HandlerOption("block", default: "16", "side of a block in pixels, 2 to 128")] + FrameArea.options

    private let block: Int
    private let area: FrameArea
    /// The column sums and the means of one row of blocks. The arrays are reused for each frame.
    private var sums: [UInt16] = []
    private var means: [UInt8] = []
    private var mask = ByteMask()

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        block = try options.int("block", in: 2...128, default: 16)
        area = try FrameArea(options)
    }

    mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
        let format = frame.format
        let (columns, rows) = area.pixels(width: frame.width, height: frame.height, even: format.isYUV)
        let (width, height, alphaOffset) = (frame.width, frame.height, format.alphaOffset)
        for plane in format.planes where plane != .alpha {
            var pixels = try frame.mutablePlane(plane)
            let across = Grid(columns, block, subsampling: pixels.width < width ? 2 : 1)
            let down = Grid(rows, block, subsampling: pixels.height < height ? 2 : 1)
            average(&pixels, across, down, alphaOffset: alphaOffset)
        }
        return .pass
    }

    /// The borders of the blocks in one direction of a plane.
    private struct Grid {
        private let range: Range<Int>
        private let block: Int
        private let subsampling: Int

        /// `range` and `block` in pixels of the frame.
        init(_ range: Range<Int>, _ block: Int, subsampling: Int) {
            (self.range, self.block, self.subsampling) = (range, block, subsampling)
        }

        var count: Int { (range.count + block - 1) / block }

        /// The whole range, in samples of the plane.
        var samples: Range<Int> {
            (range.lowerBound + subsampling - 1) / subsampling..<(range.upperBound + subsampling - 1) / subsampling
        }

        /// The range of block `index`, in samples of the plane.
        subscript(index: Int) -> Range<Int> {
            let begin = range.lowerBound + index * block
            let end = min(begin + block, range.upperBound)
            return (begin + subsampling - 1) / subsampling..<(end + subsampling - 1) / subsampling
        }
    }

    private mutating func average(_ plane: inout MutableVideoPlane, _ across: Grid, _ down: Grid, alphaOffset: Int?) {
        let step = plane.pixelStride
        let bytes = across.samples.lowerBound * step..<across.samples.upperBound * step
        guard !bytes.isEmpty else { return }
        if sums.count < bytes.count {
            sums = [UInt16](repeating: 0, count: bytes.count)
            means = [UInt8](repeating: 0, count: bytes.count)
        }
        mask.prepare(length: bytes.count, except: alphaOffset)
        for index in 0..<down.count {
            let rows = down[index]
            guard !rows.isEmpty else { continue }
            addColumns(of: &plane, rows, bytes)
            reduce(across, step, rows: rows.count)
            let means = self.means.span.extracting(first: bytes.count)
            for y in rows { Self.fill(&plane, y, bytes, with: means, where: mask.bytes(bytes.count)) }
        }
    }

    /// Adds up the columns of one row of blocks. A block has at most 128 rows, so 16 bits are enough.
    private mutating func addColumns(of plane: inout MutableVideoPlane, _ rows: Range<Int>, _ bytes: Range<Int>) {
        var allSums = self.sums.mutableSpan
        var sums = allSums._mutatingExtracting(0..<bytes.count)
        sums.update(repeating: 0)
        for y in rows {
            var wholeRow = plane.row(y)
            let row = wholeRow._mutatingExtracting(bytes)
            precondition(row.count == sums.count)
            for index in row.indices { sums[index] &+= UInt16(row[index]) }
        }
    }

    /// Computes the means of blocks from the column sums, and stores them for every byte of a row.
    private mutating func reduce(_ across: Grid, _ step: Int, rows: Int) {
        let start = across.samples.lowerBound
        for index in 0..<across.count {
            let columns = (across[index].lowerBound - start) * step..<(across[index].upperBound - start) * step
            let count = UInt32(across[index].count * rows)
            for component in 0..<step {
                var sum = count / 2
                for byte in stride(from: columns.lowerBound + component, to: columns.upperBound, by: step) {
                    sum &+= UInt32(sums[byte])
                }
                guard count > 0 else { continue }
                let mean = UInt8(truncatingIfNeeded: sum / count)
                for byte in stride(from: columns.lowerBound + component, to: columns.upperBound, by: step) {
                    means[byte] = mean
                }
            }
        }
    }

    private static func fill(
        _ plane: inout MutableVideoPlane, _ y: Int, _ bytes: Range<Int>, with means: Span<UInt8>,
        where mask: Span<UInt8>
    ) {
        var wholeRow = plane.row(y)
        var row = wholeRow._mutatingExtracting(bytes)
        precondition(row.count == means.count && row.count == mask.count)
        // The rectangle begins at a whole pixel, so the mask's bytes correspond to the row's.
        for index in row.indices { row[index] = row[index] & ~mask[index] | means[index] & mask[index] }
    }
}
