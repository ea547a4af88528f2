import GStreamer

/// Several planes at once, for what reads one and writes another, or writes both: luma and chroma of NV12, colours and alpha.
extension VideoFrame {
    /// Two planes for editing, for the length of `body`. Throws when the format has none such, or when both are the same.
    ///
    /// ```swift
    /// try frame.withMutablePlanes(.y, .uv) { luma, chroma in … }
    /// ```
    public mutating func withMutablePlanes<R>(
        _ first: VideoFormat.Plane, _ second: VideoFormat.Plane,
        _ body: (inout MutableVideoPlane, inout MutableVideoPlane) throws -> R
    ) throws -> R {
        try requireDistinct(first, second)
        // Planes of a frame don't overlap, so each may have a view of the frame to itself.
        var firstView = MappedVideoFrame(mapped.frame)
        var secondView = MappedVideoFrame(mapped.frame)
        var firstPlane = try mutablePlane(first, in: &firstView)
        var secondPlane = try mutablePlane(second, in: &secondView)
        return try body(&firstPlane, &secondPlane)
    }

    /// The same with three: y, u and v.
    public mutating func withMutablePlanes<R>(
        _ first: VideoFormat.Plane, _ second: VideoFormat.Plane, _ third: VideoFormat.Plane,
        _ body: (inout MutableVideoPlane, inout MutableVideoPlane, inout MutableVideoPlane) throws -> R
    ) throws -> R {
        try requireDistinct(first, third)
        try requireDistinct(second, third)
        var view = MappedVideoFrame(mapped.frame)
        var thirdPlane = try mutablePlane(third, in: &view)
        return try withMutablePlanes(first, second) { firstPlane, secondPlane in
            try body(&firstPlane, &secondPlane, &thirdPlane)
        }
    }

    /// One plane could be written through two names otherwise.
    private func requireDistinct(_ a: VideoFormat.Plane, _ b: VideoFormat.Plane) throws(MediaGraphError) {
        guard a == b else { return }
        throw .invalidParameter(
            .init("planes", expected: "each plane once", actual: "\(a.rawValue) and \(b.rawValue)"))
    }

    @_lifetime(&view)
    private func mutablePlane(
        _ plane: VideoFormat.Plane, in view: inout MappedVideoFrame
    ) throws(MediaGraphError) -> MutableVideoPlane {
        let (index, width, height) = try layout(plane)
        let pixelStride = format.pixelStride(of: plane)
        let stride = view.stride(plane: index)
        return MutableVideoPlane(
            bytes: view.mutableBytes(plane: index, rows: height, rowBytes: width * pixelStride), width: width,
            height: height, stride: stride, pixelStride: pixelStride)
    }
}
