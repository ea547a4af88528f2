import CGStreamer

/// How a buffer's planes lie in it (`GstVideoMeta`), for whoever carries it elsewhere. A value.
public struct VideoLayout: Sendable, Hashable {
    private var format: UInt32
    private var width, height: UInt32
    private var planes: [Plane]

    private struct Plane: Sendable, Hashable {
        var offset: Int
        var stride: Int32
    }

    fileprivate init(_ meta: GstVideoMeta) {
        format = meta.format.rawValue
        (width, height) = (meta.width, meta.height)
        let offsets = [meta.offset.0, meta.offset.1, meta.offset.2, meta.offset.3]
        let strides = [meta.stride.0, meta.stride.1, meta.stride.2, meta.stride.3]
        planes = zip(offsets, strides).prefix(Int(min(meta.n_planes, 4))).map { Plane(offset: Int($0), stride: $1) }
    }

    public var text: String {
        ([format, width, height].map { "\($0)" } + planes.map { "\($0.offset):\($0.stride)" }).joined(separator: "/")
    }

    /// What `text` gave.
    public init?(_ text: String) {
        let parts = text.split(separator: "/")
        guard parts.count > 3, parts.count <= 7, let format = UInt32(parts[0]), let width = UInt32(parts[1]),
            let height = UInt32(parts[2]), format < 1000, width <= 32767, height <= 32767
        else { return nil }
        (self.format, self.width, self.height) = (format, width, height)
        planes = []
        for part in parts.dropFirst(3) {
            let numbers = part.split(separator: ":")
            guard numbers.count == 2, let offset = Int(numbers[0]), let stride = Int32(numbers[1]), offset >= 0
            else { return nil }
            planes.append(Plane(offset: offset, stride: stride))
        }
    }

    fileprivate func add(to buffer: UnsafeMutablePointer<GstBuffer>) {
        var offsets = planes.map { gsize($0.offset) } + [gsize](repeating: 0, count: 4 - planes.count)
        var strides = planes.map(\.stride) + [Int32](repeating: 0, count: 4 - planes.count)
        gst_buffer_add_video_meta_full(
            buffer, GST_VIDEO_FRAME_FLAG_NONE, GstVideoFormat(rawValue: format), width, height, UInt32(planes.count),
            &offsets, &strides)
    }
}

extension BufferAccess {
    /// `nil` where the caps alone say it.
    public var videoLayout: VideoLayout? { gst_buffer_get_video_meta(raw).map { VideoLayout($0.pointee) } }

    /// The buffer must be the caller's alone.
    public func setVideoLayout(_ layout: VideoLayout) { layout.add(to: raw) }

    /// Silence, or nothing to see: it has bytes only for those who need some.
    public var isGap: Bool {
        get { raw.pointee.mini_object.flags & GST_BUFFER_FLAG_GAP.rawValue != 0 }
        nonmutating set {
            if newValue {
                raw.pointee.mini_object.flags |= GST_BUFFER_FLAG_GAP.rawValue
            } else {
                raw.pointee.mini_object.flags &= ~GST_BUFFER_FLAG_GAP.rawValue
            }
        }
    }
}
