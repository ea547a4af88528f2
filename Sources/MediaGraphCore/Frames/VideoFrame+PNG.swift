import GStreamer

extension VideoFrame {
    /// The frame as a PNG file. Pixels that aren't square stay so; alpha is kept.
    ///
    /// - Parameter isUpright: Whether the picture is made upright, as its rotation and its stream's tag say; otherwise the
    ///   pixels are as they lie. The mirror mode's flip isn't applied.
    ///
    /// Blocks while it is compressed, some 50 ms at 720p. Throws `unsupported` without the element pngenc.
    public func png(isUpright: Bool = false) throws(MediaGraphError) -> [UInt8] {
        do { return try PNGEncoder.encode(mapped, isUpright ? orientation : .upright) } catch {
            throw MediaGraphError(error)
        }
    }
}

extension OwnedVideoFrame {
    /// The frame as a PNG file, as ``VideoFrame/png(isUpright:)`` makes it. Blocks while it is compressed, some 50 ms at 720p:
    /// on a thread that may.
    public func png(isUpright: Bool = false) throws -> [UInt8] { try withFrame { try $0.png(isUpright: isUpright) } }
}

extension MediaGraphError {
    package init(_ error: PNGError) {
        self =
            error == .noEncoder
            ? .unsupported(.init("PNG", actual: "\(error)")) : .processingFailed(.init("PNG", actual: "\(error)"))
    }

    /// For handlers that will write PNG: better at the start than at the first picture.
    package static func checkPNGEncoder() throws(MediaGraphError) {
        do { try PNGEncoder.check() } catch { throw MediaGraphError(error) }
    }
}
