import GStreamer
import MediaGraphCore

/// Writes and reads the number that `videosource handler=counter` burns into the luma plane (its layout is described
/// there).
public enum FrameNumber {
    private static func cell(width: Int) -> Int { max(1, min(width / 32, 16)) }

    static func draw(_ number: UInt32, width: Int, height: Int, _ set: (_ x: Int, _ y: Int, UInt8) -> Void) {
        let cell = cell(width: width)
        let bits = min(32, width)
        for bit in 0..<bits {
            let value: UInt8 = number >> UInt32(bits - 1 - bit) & 1 == 1 ? 235 : 16
            for y in 0..<min(cell, height) { for x in bit * cell..<(bit + 1) * cell { set(x, y, value) } }
        }
    }

    /// The number in a frame at the size at which it was drawn: by its luma, in RGB by green, which is most of that.
    public static func read(_ frame: borrowing VideoFrame) throws(MediaGraphError) -> UInt32 {
        let plane = try frame.plane(frame.format.isYUV ? .y : .packed)
        let offset = frame.format.colorOffsets?.green ?? 0
        let cell = cell(width: frame.width)
        let row = plane.row(min(cell, frame.height) / 2)
        var number: UInt32 = 0
        for bit in 0..<min(32, frame.width) {
            number = number << 1 | (row[(bit * cell + cell / 2) * plane.pixelStride + offset] >= 128 ? 1 : 0)
        }
        return number
    }
}
