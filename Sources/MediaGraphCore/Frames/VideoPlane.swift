import GStreamer

/// One plane of a borrowed frame, for reading. It is valid as long as the frame.
public struct VideoPlane: ~Escapable {
    /// All bytes from the first pixel to the last, padding between rows included.
    public let bytes: Span<UInt8>
    /// Pixels in a row (half of the frame's, rounded up, for subsampled chroma).
    public let width: Int
    /// Rows (half of the frame's, rounded up, for subsampled chroma).
    public let height: Int
    /// Bytes from one row to the next.
    public let stride: Int
    /// Bytes from one pixel to the next.
    public let pixelStride: Int

    @_lifetime(copy bytes)
    @inlinable
    init(bytes: Span<UInt8>, width: Int, height: Int, stride: Int, pixelStride: Int) {
        self.bytes = bytes
        self.width = width
        self.height = height
        self.stride = stride
        self.pixelStride = pixelStride
    }

    /// Bytes of one row's pixels.
    @inlinable public var rowLength: Int { width * pixelStride }

    /// Bytes of all pixels, without padding between rows.
    @inlinable public var byteCount: Int { rowLength * height }

    /// Returns the pixels of one row, without padding.
    @_lifetime(copy self)
    @inlinable
    public func row(_ index: Int) -> Span<UInt8> {
        bytes.extracting(index * stride..<index * stride + rowLength)
    }
}

/// One plane of a borrowed frame, for editing in place.
public struct MutableVideoPlane: ~Copyable, ~Escapable {
    /// All bytes from the first pixel to the last, padding between rows included.
    public var bytes: MutableSpan<UInt8>
    /// Pixels in a row (half of the frame's, rounded up, for subsampled chroma).
    public let width: Int
    /// Rows (half of the frame's, rounded up, for subsampled chroma).
    public let height: Int
    /// Bytes from one row to the next.
    public let stride: Int
    /// Bytes from one pixel to the next.
    public let pixelStride: Int

    @_lifetime(copy bytes)
    @inlinable
    init(bytes: consuming MutableSpan<UInt8>, width: Int, height: Int, stride: Int, pixelStride: Int) {
        self.bytes = bytes
        self.width = width
        self.height = height
        self.stride = stride
        self.pixelStride = pixelStride
    }

    /// Bytes of one row's pixels.
    @inlinable public var rowLength: Int { width * pixelStride }

    /// Returns the pixels of one row, without padding.
    @_lifetime(&self)
    @inlinable
    public mutating func row(_ index: Int) -> MutableSpan<UInt8> {
        bytes._mutatingExtracting(index * stride..<index * stride + rowLength)
    }

    /// Sets every byte of these rows' pixels.
    public mutating func fill(rows: Range<Int>, with value: UInt8) {
        for index in rows.clamped(to: 0..<height) {
            var row = row(index)
            row.update(repeating: value)
        }
    }
}
