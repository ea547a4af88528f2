import GStreamer
import MediaGraphCore

/// Removes the color and keeps the brightness: `preprocessor handler=grayscale`.
struct Grayscale: VideoProcessor, NamedHandler {
    static let name = "grayscale"
    static let summary = "Removes the color and keeps the brightness"

    init(options: HandlerOptions) throws {}

    func process(_ frame: inout VideoFrame) throws -> Verdict {
        if let offsets = frame.format.colorOffsets {
            try removeColor(from: &frame, offsets)
        } else {
            // Chroma of 128 is gray. Luma is the brightness and stays.
            for plane in [VideoFormat.Plane.u, .v, .uv] where frame.format.index(of: plane) != nil {
                var chroma = try frame.mutablePlane(plane)
                chroma.fill(rows: 0..<chroma.height, with: 128)
            }
        }
        return .pass
    }

    private func removeColor(
        from frame: inout VideoFrame, _ offsets: (red: Int, green: Int, blue: Int)
    ) throws(MediaGraphError) {
        var pixels = try frame.mutablePlane(.packed)
        let step = pixels.pixelStride
        for index in 0..<pixels.height {
            var row = pixels.row(index)
            var pixel = 0
            while pixel < row.count {
                let red = Int(row[pixel + offsets.red])
                let green = Int(row[pixel + offsets.green])
                let blue = Int(row[pixel + offsets.blue])
                // ITU-R BT.709 luma in 16 bits.
                let luma = UInt8(truncatingIfNeeded: (13_933 * red + 46_871 * green + 4_732 * blue + 32_768) >> 16)
                row[pixel + offsets.red] = luma
                row[pixel + offsets.green] = luma
                row[pixel + offsets.blue] = luma
                pixel += step
            }
        }
    }
}
