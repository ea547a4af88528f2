import GStreamer

extension VideoFrame {
    /// Returns the frame as a PNG file. Alpha is kept, and so are pixels that aren't square.
    ///
    /// Blocks while the frame is compressed, about 50 ms at 720p. Throws `unsupported` if the element `pngenc` is
    /// missing.
    ///
    /// - Parameter isUpright: Whether to turn the picture upright, by its rotation and its stream's tag; otherwise the
    ///   pixels are as in memory. The mirror mode's flip isn't applied in either case.
    public func png(isUpright: Bool = false) throws(MediaGraphError) -> [UInt8] {
        do { return try PNGEncoder.encode(mapped, isUpright ? orientation : .upright) } catch {
            throw MediaGraphError(error)
        }
    }
}

extension OwnedVideoFrame {
    /// Returns the frame as a PNG file, as ``VideoFrame/png(isUpright:)`` does. Blocks while the frame is compressed,
    /// about 50 ms at 720p; call it on a thread that may block.
    public func png(isUpright: Bool = false) throws -> [UInt8] { try withFrame { try $0.png(isUpright: isUpright) } }
}

extension MediaGraphError {
    package init(_ error: PNGError) {
        self =
            error == .noEncoder
            ? .unsupported(.init("PNG", actual: "\(error)")) : .processingFailed(.init("PNG", actual: "\(error)"))
    }

    /// Throws if PNG files can't be written. Handlers that write PNG call it at the start, to fail before the first
    /// picture.
    package static func checkPNGEncoder() throws(MediaGraphError) {
        do { try PNGEncoder.check() } catch { throw MediaGraphError(error) }
    }
}
