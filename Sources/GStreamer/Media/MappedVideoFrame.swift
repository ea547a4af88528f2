import CGStreamer

/// A video buffer that is mapped for the length of a call: planes as spans that the compiler keeps from escaping.
///
/// Not copyable and not escapable: it can be neither kept nor handed to another thread.
public struct MappedVideoFrame: ~Copyable, ~Escapable {
    @usableFromInline package let frame: UnsafeMutablePointer<GstVideoFrame>

    @_lifetime(immortal)
    @inlinable
    package init(_ frame: UnsafeMutablePointer<GstVideoFrame>) { self.frame = frame }

    public var info: VideoInfo { VideoInfo(frame.pointee.info) }
    @inlinable public var width: Int { Int(frame.pointee.info.width) }
    @inlinable public var height: Int { Int(frame.pointee.info.height) }
    /// Interlaced content of this very buffer (in `mixed` caps it differs from buffer to buffer).
    public var isInterlaced: Bool {
        frame.pointee.info.interlace_mode != GST_VIDEO_INTERLACE_MODE_PROGRESSIVE
            && (frame.pointee.info.interlace_mode != GST_VIDEO_INTERLACE_MODE_MIXED
                || frame.pointee.flags.rawValue & GST_VIDEO_FRAME_FLAG_INTERLACED.rawValue != 0)
    }

    /// Bytes from one row of the plane to the next.
    @inlinable @inline(__always)
    public func stride(plane index: Int) -> Int {
        withUnsafePointer(to: &frame.pointee.info.stride) {
            Int(UnsafeRawPointer($0).load(fromByteOffset: index * MemoryLayout<Int32>.size, as: Int32.self))
        }
    }

    @inlinable @inline(__always)
    func base(_ index: Int) -> UnsafeMutablePointer<UInt8> {
        withUnsafePointer(to: &frame.pointee.data) {
            UnsafeRawPointer($0).load(
                fromByteOffset: index * MemoryLayout<UnsafeMutableRawPointer>.size, as: UnsafeMutableRawPointer.self)
        }.assumingMemoryBound(to: UInt8.self)
    }

    /// Bytes of a plane: `stride` for each row but the last, which ends with its last pixel.
    @inlinable @inline(__always)
    func length(_ index: Int, rows: Int, rowBytes: Int) -> Int {
        rows == 0 ? 0 : stride(plane: index) * (rows - 1) + rowBytes
    }

    /// The plane's bytes, `rows` rows of `rowBytes` each, `stride(plane:)` apart.
    @_lifetime(borrow self)
    @inlinable @inline(__always)
    public func bytes(plane index: Int, rows: Int, rowBytes: Int) -> Span<UInt8> {
        let count = length(index, rows: rows, rowBytes: rowBytes)
        let span = unsafe Span<UInt8>(_unsafeStart: base(index), count: count)
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// The same for writing; the buffer must have been mapped so.
    @_lifetime(&self)
    @inlinable @inline(__always)
    public mutating func mutableBytes(plane index: Int, rows: Int, rowBytes: Int) -> MutableSpan<UInt8> {
        let count = length(index, rows: rows, rowBytes: rowBytes)
        let span = unsafe MutableSpan<UInt8>(_unsafeStart: base(index), count: count)
        return unsafe _overrideLifetime(span, mutating: &self)
    }
}

extension MappedVideoFrame {
    /// Where alpha of 8 bits lies; `nil` in formats without it.
    private var alphaComponent: (plane: Int, step: Int, offset: Int)? {
        guard let format = frame.pointee.info.finfo?.pointee,
            format.flags.rawValue & GST_VIDEO_FORMAT_FLAG_ALPHA.rawValue != 0, format.depth.3 == 8
        else { return nil }
        return (Int(format.plane.3), Int(format.pixel_stride.3), Int(format.poffset.3))
    }

    /// Sets alpha to its largest in every pixel, in formats with 8 bits of it; nothing happens in those without.
    mutating func makeOpaque() {
        guard let (plane, step, offset) = alphaComponent else { return }
        var row = base(plane) + offset
        for _ in 0..<height {
            if step == 1 {
                row.update(repeating: 255, count: width)
            } else {
                for x in 0..<width { row[x * step] = 255 }
            }
            row += stride(plane: plane)
        }
    }

    /// Takes the colours of a buffer of the same format and size, and keeps its own alpha (of 8 bits); false when the buffer
    /// can't be mapped.
    public mutating func copyColor(of buffer: consuming Buffer, _ info: VideoInfo) -> Bool {
        guard let (plane, step, offset) = alphaComponent else { return copy(buffer.access, info) }
        let target = frame
        return buffer.access.withVideoFrame(info, .readWrite) { source in
            for y in 0..<height {
                let from = base(plane) + y * stride(plane: plane) + offset
                let to = source.base(plane) + y * source.stride(plane: plane) + offset
                for x in 0..<width { to[x * step] = from[x * step] }
            }
            return gst_video_frame_copy(target, source.frame) != 0
        } ?? false
    }
}

/// Whether a mapped buffer is written to.
public enum MapMode: Sendable {
    case read, readWrite

    @inlinable
    package var raw: GstMapFlags {
        self == .read ? GST_MAP_READ : GstMapFlags(rawValue: GST_MAP_READ.rawValue | GST_MAP_WRITE.rawValue)
    }
}

extension BufferAccess {
    /// Maps the buffer as a frame laid out as `info` (or as the buffer's `GstVideoMeta` says) while `body` runs.
    /// `nil` when it can't be mapped: too small for the size in its caps, or memory that no CPU reads.
    @inlinable
    public func withVideoFrame<R>(
        _ info: VideoInfo, _ mode: MapMode, _ body: (inout MappedVideoFrame) throws -> R
    ) rethrows -> R? {
        // The caller holds the buffer, so the frame needs no reference of its own (GST_VIDEO_FRAME_MAP_FLAG_NO_REF),
        // which also keeps a buffer writable that is.
        let flags = GstMapFlags(
            rawValue: mode.raw.rawValue | UInt32(GST_VIDEO_FRAME_MAP_FLAG_NO_REF.rawValue))
        // GStreamer fills the structure in, all 400 bytes of it: no need to clear it first.
        return try withUnsafeTemporaryAllocation(of: GstVideoFrame.self, capacity: 1) { memory in
            let pointer = memory.baseAddress!
            let isMapped = withUnsafePointer(to: info.raw) { layout in
                gst_video_frame_map(pointer, UnsafeMutablePointer(mutating: layout), self.raw, flags)
            }
            guard isMapped != 0 else { return nil }
            defer { gst_video_frame_unmap(pointer) }
            var frame = MappedVideoFrame(pointer)
            return try body(&frame)
        }
    }
}
