import CGStreamer
import GStreamer

extension VideoLayout {
    /// Creates the default layout of a frame's planes.
    public init(of info: VideoInfo) {
        self.init(
            [info.raw.offset.0, info.raw.offset.1, info.raw.offset.2, info.raw.offset.3],
            [info.raw.stride.0, info.raw.stride.1, info.raw.stride.2, info.raw.stride.3], info.raw.finfo.pointee,
            info.width, info.height)
    }

    private init(_ offsets: [gsize], _ strides: [Int32], _ format: GstVideoFormatInfo, _ width: Int, _ height: Int) {
        let planes = zip(offsets, strides).prefix(Int(format.n_planes)).flatMap {
            [UInt64($0), UInt64(UInt32(bitPattern: $1))]
        }
        self.init(words: [UInt64(format.format.rawValue), UInt64(width) << 32 | UInt64(height)] + planes)!
    }
}
