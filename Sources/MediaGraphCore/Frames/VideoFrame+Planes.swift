import GStreamer

/// Access to several planes at once, such as luma and chroma of NV12, or color and alpha.
extension VideoFrame {
    /// Lends two planes to `body` for editing. Throws `invalidParameter` if the format lacks one of them, or if both
    /// are the same.
    ///
    /// ```swift
    /// try frame.withMutablePlanes(.y, .uv) { luma, chroma in … }
    /// ```
    public mutating func withMutablePlanes<R>(
        _ first: VideoFormat.Plane, _ second: VideoFormat.Plane,
        _ body: (inout MutableVideoPlane, inout MutableVideoPlane) throws -> R
    ) throws -> R {
        try requireDistinct(first, second)
        // The planes of a frame don't overlap, so each may have its own view of the frame.
        var firstView = MappedVideoFrame(mapped.frame)
        var secondView = MappedVideoFrame(mapped.frame)
        var firstPlane = try mutablePlane(first, in: &firstView)
        var secondPlane = try mutablePlane(second, in: &secondView)
        return try body(&firstPlane, &secondPlane)
    }

    /// Lends three planes to `body` for editing, such as y, u and v. Throws `invalidParameter` if the format lacks one
    /// of them, or if two are the same.
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

    /// Throws if both planes are the same: it could otherwise be written through two names.
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
