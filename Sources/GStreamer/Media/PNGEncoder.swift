import CGStreamer

/// An error of `PNGEncoder`.
package enum PNGError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The element `pngenc` isn't installed.
    case noEncoder
    /// The picture couldn't be encoded, with the reason.
    case failed(String)

    package var description: String {
        switch self {
        case .noEncoder: "the element pngenc is missing (package gstreamer1.0-plugins-good)"
        case .failed(let reason): "the picture can't be encoded as PNG: \(reason)"
        }
    }
}

/// Encodes video frames as PNG with the element `pngenc`.
///
/// Alpha is kept. Pixels that aren't square aren't scaled. Encoding blocks the thread, for about 50 ms at 720p.
package enum PNGEncoder {
    /// Throws if the encoder isn't installed. Use it to fail before the first frame.
    package static func check() throws(PNGError) {
        GStreamerRuntime.initialize()
        guard let factory = gst_element_factory_find("pngenc") else { throw .noEncoder }
        gst_object_unref(UnsafeMutableRawPointer(factory))
    }

    /// Encodes a frame, flipped and turned by `orientation` so that the picture is upright.
    package static func encode(
        _ frame: borrowing MappedVideoFrame, _ orientation: VideoOrientation = .upright
    ) throws(PNGError) -> [UInt8] {
        let input = frame.info
        let hasAlpha = input.raw.finfo.pointee.flags.rawValue & GST_VIDEO_FORMAT_FLAG_ALPHA.rawValue != 0
        let format: VideoFormat = hasAlpha ? .rgba : .rgb24
        // The output keeps the input's interlace mode: the converter refuses to change it, and needs it for the
        // chroma's position.
        guard let output = input.converted(to: format, size: (input.width, input.height), squarePixels: true),
            let picture = VideoInfo(format, width: input.width, height: input.height),
            let buffer = VideoConverter(from: input, to: output)?.convert(frame)
        else { throw .failed("can't convert \(input.formatName) to \(format.gstreamerName)") }
        guard orientation != .upright else { return try encode(buffer, picture) }
        let size = orientation.swapsSides ? (input.height, input.width) : (input.width, input.height)
        guard let upright = VideoInfo(format, width: size.0, height: size.1) else { throw .failed("unsupported size") }
        let turned: Buffer
        do { turned = try BufferFilter.turned(buffer, picture, by: orientation) } catch { throw .failed("\(error)") }
        return try encode(turned, upright)
    }

    /// Encodes a picture in the format RGB or RGBA whose rows have no padding.
    package static func encode(
        packed bytes: Span<UInt8>, _ format: VideoFormat, width: Int, height: Int
    ) throws(PNGError) -> [UInt8] {
        precondition(bytes.count == format.packedLength(width: width, height: height), "the bytes must be one picture")
        guard let picture = VideoInfo(format, width: width, height: height), let pool = VideoBufferPool(picture),
            let buffer = bytes.withUnsafeBytes({ pool.copy(packed: $0.baseAddress!) })
        else { throw .failed("not enough memory for \(width)×\(height) pixels") }
        return try encode(buffer, picture)
    }

    private static let timeout = Duration.seconds(30)
    private static let pngCaps = Caps("image/png")!.constant

    private static func encode(_ buffer: consuming Buffer, _ info: VideoInfo) throws(PNGError) -> [UInt8] {
        try check()
        let caps = info.caps
        let sample = Sample(taking: withExtendedLifetime(caps) { gst_sample_new(buffer.raw, caps.raw, nil, nil) })
        var error: UnsafeMutablePointer<GError>?
        guard let raw = gst_video_convert_sample(sample.raw, pngCaps.raw, GstClockTime(timeout.nanoseconds), &error)
        else {
            throw .failed(error.map { GLibError(taking: $0).message } ?? "GStreamer gave no reason")
        }
        let encoded = Sample(taking: raw)
        let bytes = withExtendedLifetime(encoded) { encoded.buffer?.bytes ?? [] }
        guard !bytes.isEmpty else { throw .failed("the encoder produced no data") }
        return bytes
    }
}

extension BufferAccess {
    /// A copy of the buffer's bytes.
    package var bytes: [UInt8] {
        let size = size
        return [UInt8](unsafeUninitializedCapacity: size) { target, count in
            count = Int(gst_buffer_extract(raw, 0, target.baseAddress, gsize(size)))
        }
    }
}
