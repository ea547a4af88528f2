import CGStreamer

/// A video frame that is mapped during a call. The planes are spans, which the compiler doesn't allow to escape.
///
/// The type is neither copyable nor escapable, so a value can't be kept or passed to another thread.
public struct MappedVideoFrame: ~Copyable, ~Escapable {
    @usableFromInline package let frame: UnsafeMutablePointer<GstVideoFrame>

    @_lifetime(immortal)
    @inlinable
    package init(_ frame: UnsafeMutablePointer<GstVideoFrame>) { self.frame = frame }

    /// The video format.
    public var info: VideoInfo { VideoInfo(frame.pointee.info) }
    /// The frame's width in pixels.
    @inlinable public var width: Int { Int(frame.pointee.info.width) }
    /// The frame's height in pixels.
    @inlinable public var height: Int { Int(frame.pointee.info.height) }
    /// Whether this frame is interlaced. With `interlace-mode=mixed` that differs from buffer to buffer.
    public var isInterlaced: Bool {
        frame.pointee.info.interlace_mode != GST_VIDEO_INTERLACE_MODE_PROGRESSIVE
            && (frame.pointee.info.interlace_mode != GST_VIDEO_INTERLACE_MODE_MIXED
                || frame.pointee.flags.rawValue & GST_VIDEO_FRAME_FLAG_INTERLACED.rawValue != 0)
    }

    /// Returns the number of bytes from one row of the plane to the next.
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

    /// Returns the bytes of a plane: one stride for each row except the last, which ends with its last pixel.
    @inlinable @inline(__always)
    func length(_ index: Int, rows: Int, rowBytes: Int) -> Int {
        rows == 0 ? 0 : stride(plane: index) * (rows - 1) + rowBytes
    }

    /// Returns the plane's bytes: `rows` rows of `rowBytes` bytes each, `stride(plane:)` bytes apart.
    @_lifetime(borrow self)
    @inlinable @inline(__always)
    public func bytes(plane index: Int, rows: Int, rowBytes: Int) -> Span<UInt8> {
        let count = length(index, rows: rows, rowBytes: rowBytes)
        let span = unsafe Span<UInt8>(_unsafeStart: base(index), count: count)
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// Returns the plane's bytes for writing, as `bytes(plane:rows:rowBytes:)` does for reading. The buffer must be
    /// mapped with `readWrite`.
    @_lifetime(&self)
    @inlinable @inline(__always)
    public mutating func mutableBytes(plane index: Int, rows: Int, rowBytes: Int) -> MutableSpan<UInt8> {
        let count = length(index, rows: rows, rowBytes: rowBytes)
        let span = unsafe MutableSpan<UInt8>(_unsafeStart: base(index), count: count)
        return unsafe _overrideLifetime(span, mutating: &self)
    }
}

extension MappedVideoFrame {
    /// The plane of the alpha component, its bytes per pixel and its offset in a pixel; `nil` in formats without 8-bit
    /// alpha.
    private var alphaComponent: (plane: Int, step: Int, offset: Int)? {
        guard let format = frame.pointee.info.finfo?.pointee,
            format.flags.rawValue & GST_VIDEO_FORMAT_FLAG_ALPHA.rawValue != 0, format.depth.3 == 8
        else { return nil }
        return (Int(format.plane.3), Int(format.pixel_stride.3), Int(format.poffset.3))
    }

    /// Sets alpha to 255 in every pixel. Does nothing in formats without 8-bit alpha.
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

    /// Copies the pixels of a buffer of the same format and size, but keeps the frame's own 8-bit alpha. The buffer
    /// must be writable, because the alpha is written into it first. Returns false if it can't be mapped.
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

/// The access for which a buffer is mapped.
public enum MapMode: Sendable {
    /// Reading only.
    case read
    /// Reading and writing; the buffer must be writable.
    case readWrite

    @inlinable
    package var raw: GstMapFlags {
        self == .read ? GST_MAP_READ : GstMapFlags(rawValue: GST_MAP_READ.rawValue | GST_MAP_WRITE.rawValue)
    }
}

extension BufferAccess {
    /// Calls `body` with the buffer mapped as a video frame, laid out as its `GstVideoMeta` or otherwise `info`
    /// describes.
    ///
    /// Returns `nil` if the buffer can't be mapped: if it is too small for the size in its caps, or the CPU can't
    /// access its memory.
    @inlinable
    public func withVideoFrame<R>(
        _ info: VideoInfo, _ mode: MapMode, _ body: (inout MappedVideoFrame) throws -> R
    ) rethrows -> R? {
        // The caller holds the buffer, so the frame needs no reference of its own (GST_VIDEO_FRAME_MAP_FLAG_NO_REF). A
        // second reference would make the buffer read-only.
        let flags = GstMapFlags(
            rawValue: mode.raw.rawValue | UInt32(GST_VIDEO_FRAME_MAP_FLAG_NO_REF.rawValue))
        // GStreamer fills the whole structure of 400 bytes, so it need not be cleared first.
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
