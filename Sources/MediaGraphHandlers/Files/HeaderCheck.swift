import GStreamer
import MediaGraphCore

/// Refuses files that have a header where packed media is expected, which has none.
enum HeaderCheck {
    /// Those that begin with four bytes or more that packed media doesn't have by chance.
    private static let types: Set = [
        "application/ogg", "application/x-id3", "application/x-yuv4mpeg", "audio/ogg", "audio/x-aiff", "audio/x-au",
        "audio/x-flac", "audio/x-m4a", "audio/x-matroska", "audio/x-wav", "image/png", "video/ogg", "video/quicktime",
        "video/webm", "video/x-flv", "video/x-matroska", "video/x-msvideo",
    ]

    /// The handler `raw` would play the header, and what is compressed, as pictures or sound. `start` is what the file begins with.
    static func refuseHeader(of start: ArraySlice<UInt8>, in file: String) throws(MediaGraphError) {
        guard let type = start.likelyMediaType, types.contains(type) else { return }
        let remedy =
            switch type {
            case "audio/x-wav": "use virtualmic handler=wav"
            case "application/x-yuv4mpeg": "use videosource handler=y4m"
            default: "decode it with filesrc ! decodebin"
            }
        throw .unsupported(
            .init(
                file,
                actual: "handler=raw reads only data without a header, and this is a file of type \(type); \(remedy)"))
    }
}
