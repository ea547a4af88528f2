import GStreamer

extension VideoFrame {
    /// The frame as a PNG file, with the pixels as they lie: rotation isn't applied, and pixels that aren't square stay so.
    /// Alpha is kept. Blocks while it is compressed, some 50 ms at 720p.
    ///
    /// Throws `unsupported` without the element pngenc.
    public func png() throws(MediaGraphError) -> [UInt8] {
        do { return try PNGEncoder.encode(mapped) } catch { throw MediaGraphError(error) }
    }
}

extension OwnedVideoFrame {
    /// The frame as a PNG file, with the pixels as they lie: rotation isn't applied, and pixels that aren't square stay so.
    /// Alpha is kept. Blocks while it is compressed, some 50 ms at 720p: on a thread that may.
    ///
    /// Throws `unsupported` without the element pngenc.
    public func png() throws -> [UInt8] { try withFrame { try $0.png() } }
}

extension MediaGraphError {
    init(_ error: PNGError) {
        self =
            error == .noEncoder
            ? .unsupported(.init("PNG", actual: "\(error)")) : .processingFailed(.init("PNG", actual: "\(error)"))
    }

    /// For handlers that will write PNG: better at the start than at the first picture.
    static func checkPNGEncoder() throws(MediaGraphError) {
        do { try PNGEncoder.check() } catch { throw MediaGraphError(error) }
    }
}
