import CGStreamer

/// How a buffer's planes lie in it (`GstVideoMeta`), for whoever carries it elsewhere. A value.
public struct VideoLayout: Sendable, Hashable {
    private var format: UInt32
    private var width, height: UInt32
    private var planes: [Plane]

    private struct Plane: Sendable, Hashable {
        var offset: UInt
        var stride: Int32
    }

    fileprivate init(_ meta: GstVideoMeta) {
        format = meta.format.rawValue
        (width, height) = (meta.width, meta.height)
        let offsets = [meta.offset.0, meta.offset.1, meta.offset.2, meta.offset.3]
        let strides = [meta.stride.0, meta.stride.1, meta.stride.2, meta.stride.3]
        planes = zip(offsets, strides).prefix(Int(min(meta.n_planes, 4))).map { Plane(offset: UInt($0), stride: $1) }
    }

    /// As many as `words` are at most.
    public static let mostWords = 2 + 4 * 2

    /// All of it, in numbers.
    public var words: [UInt64] {
        [UInt64(format), UInt64(width) << 32 | UInt64(height)]
            + planes.flatMap { [UInt64($0.offset), UInt64(UInt32(bitPattern: $0.stride))] }
    }

    /// `nil` for what `words` never says.
    public init?(words: [UInt64]) {
        guard (2...Self.mostWords).contains(words.count), words.count % 2 == 0, let format = UInt32(exactly: words[0])
        else { return nil }
        self.format = format
        (width, height) = (UInt32(words[1] >> 32), UInt32(truncatingIfNeeded: words[1]))
        planes = stride(from: 2, to: words.count, by: 2).map {
            Plane(offset: UInt(words[$0]), stride: Int32(truncatingIfNeeded: words[$0 + 1]))
        }
    }

    fileprivate func add(to buffer: UnsafeMutablePointer<GstBuffer>) {
        // It may have come from elsewhere.
        guard format < 1000, gst_video_format_get_info(GstVideoFormat(rawValue: format)) != nil else { return }
        var (offsets, strides) = ([gsize](repeating: 0, count: 4), [Int32](repeating: 0, count: 4))
        for (index, plane) in planes.prefix(4).enumerated() {
            (offsets[index], strides[index]) = (gsize(plane.offset), plane.stride)
        }
        gst_buffer_add_video_meta_full(
            buffer, GST_VIDEO_FRAME_FLAG_NONE, GstVideoFormat(rawValue: format), width, height,
            UInt32(min(planes.count, 4)),
            &offsets, &strides)
    }
}

extension BufferAccess {
    /// `nil` where the caps alone say it.
    public var videoLayout: VideoLayout? { gst_buffer_get_video_meta(raw).map { VideoLayout($0.pointee) } }

    /// The buffer must be the caller's alone.
    public func setVideoLayout(_ layout: VideoLayout) { layout.add(to: raw) }
}
