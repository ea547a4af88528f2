import CGStreamer

/// The memory layout of a video buffer (`GstVideoMeta`) as a value, for sending it to another process.
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

    /// The maximum number of `words`.
    public static let maximumWordCount = 2 + 4 * 2

    /// The layout as numbers: the format, the size, and the offset and stride of each plane.
    public var words: [UInt64] {
        [UInt64(format), UInt64(width) << 32 | UInt64(height)]
            + planes.flatMap { [UInt64($0.offset), UInt64(UInt32(bitPattern: $0.stride))] }
    }

    /// Creates a layout from its `words`; `nil` if their number or the format is impossible. The values may come from
    /// another process: check them with `describes` and `fits` before use.
    public init?(words: [UInt64]) {
        guard (2...Self.maximumWordCount).contains(words.count), words.count % 2 == 0,
            let format = UInt32(exactly: words[0])
        else { return nil }
        self.format = format
        (width, height) = (UInt32(words[1] >> 32), UInt32(truncatingIfNeeded: words[1]))
        planes = stride(from: 2, to: words.count, by: 2).map {
            Plane(offset: UInt(words[$0]), stride: Int32(truncatingIfNeeded: words[$0 + 1]))
        }
    }

    /// Returns whether the layout has the pixel format and size of `info`.
    public func describes(_ info: VideoInfo) -> Bool {
        format == info.raw.finfo.pointee.format.rawValue && Int(width) == info.width && Int(height) == info.height
    }

    /// Returns whether all planes lie within a buffer of `size` bytes. A layout from another process may have invalid
    /// values.
    public func fits(in size: Int) -> Bool {
        guard let info = knownFormat, planes.count == Int(info.pointee.n_planes), planes.count <= 4,
            (1...Self.longestEdge).contains(width), (1...Self.longestEdge).contains(height)
        else { return false }
        return planes.indices.allSatisfy { index in
            guard planes[index].stride >= 0, planes[index].offset <= UInt(Int32.max) else { return false }
            return extent(ofPlane: index, info) <= size - Int(planes[index].offset)
        }
    }

    /// Returns the bytes from the plane's first to its last; `Int.max` if the stride is too small for the picture.
    private func extent(ofPlane index: Int, _ info: UnsafePointer<GstVideoFormatInfo>) -> Int {
        let stride = Int(planes[index].stride)
        func has(_ flag: GstVideoFormatFlags) -> Bool { info.pointee.flags.rawValue & flag.rawValue != 0 }
        if has(GST_VIDEO_FORMAT_FLAG_PALETTE), index == 1 { return Self.paletteSize }
        if has(GST_VIDEO_FORMAT_FLAG_TILED) {
            // The stride contains the number of tiles in each direction (`GST_VIDEO_TILE_MAKE_STRIDE`).
            let (columns, rows, least) = (stride & 0xffff, stride >> 16, defaultStride(ofPlane: index, info))
            guard columns >= least & 0xffff, rows >= least >> 16 else { return .max }
            return columns * rows * Int(Self.value(Int32(index), of: info.pointee.tile_info).size)
        }
        var components = [Int32](repeating: -1, count: Int(GST_VIDEO_MAX_COMPONENTS))
        gst_video_format_info_component(info, UInt32(index), &components)
        let extents = components.filter { $0 >= 0 }.map { component in
            let rows = Self.scaled(height, by: component, of: info.pointee.h_sub)
            let pixel = Int(Self.value(component, of: info.pointee.pixel_stride))
            guard pixel > 0 else {
                // In formats with packed bits, a pixel has no bytes of its own.
                return stride >= defaultStride(ofPlane: index, info) ? stride * rows : .max
            }
            return stride * (rows - 1) + Self.scaled(width, by: component, of: info.pointee.w_sub) * pixel
        }
        return extents.max() ?? 0
    }

    private func defaultStride(ofPlane index: Int, _ format: UnsafePointer<GstVideoFormatInfo>) -> Int {
        var info = GstVideoInfo()
        guard gst_video_info_set_format(&info, format.pointee.format, width, height) != 0 else { return .max }
        return Int(Self.value(Int32(index), of: info.stride))
    }

    /// The bytes of a palette of 256 colors.
    private static let paletteSize = 1024

    /// A limit for width and height that no real picture reaches.
    private static let longestEdge: UInt32 = 1 << 16

    private var knownFormat: UnsafePointer<GstVideoFormatInfo>? {
        // GStreamer logs an error for an unknown number.
        Self.formats.contains(format) ? gst_video_format_get_info(GstVideoFormat(rawValue: format)) : nil
    }

    private static let formats: Set<UInt32> = {
        var count: guint = 0
        let formats = gst_video_formats_raw(&count)
        return Set((0..<Int(count)).compactMap { formats?[$0].rawValue })
    }()

    private static func scaled(_ edge: UInt32, by component: Int32, of shifts: (guint, guint, guint, guint)) -> Int {
        let shift = Int(value(component, of: shifts))
        return (Int(edge) + (1 << shift) - 1) >> shift
    }

    private static func value<Number>(_ component: Int32, of all: (Number, Number, Number, Number)) -> Number {
        [all.0, all.1, all.2, all.3][Int(component)]
    }

    fileprivate func add(to buffer: UnsafeMutablePointer<GstBuffer>) {
        // A layout from another process may have an unknown format.
        guard knownFormat != nil else { return }
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
    /// The layout in the buffer's `GstVideoMeta`; `nil` if it has none, and the caps alone define the layout.
    public var videoLayout: VideoLayout? { gst_buffer_get_video_meta(raw).map { VideoLayout($0.pointee) } }

    /// Adds a `GstVideoMeta` with this layout. The buffer must be writable.
    public func setVideoLayout(_ layout: VideoLayout) { layout.add(to: raw) }
}
