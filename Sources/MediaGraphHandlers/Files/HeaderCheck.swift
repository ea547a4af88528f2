import GStreamer
import MediaGraphCore

/// Refuses files with a header in place of packed media without a header.
enum HeaderCheck {
    /// The media types whose files begin with at least four bytes that packed media wouldn't have by chance.
    private static let types: Set = [
        "application/ogg", "application/x-id3", "application/x-yuv4mpeg", "audio/ogg", "audio/x-aiff", "audio/x-au",
        "audio/x-flac", "audio/x-m4a", "audio/x-matroska", "audio/x-wav", "image/png", "video/ogg", "video/quicktime",
        "video/webm", "video/x-flv", "video/x-matroska", "video/x-msvideo",
    ]

    /// Throws `unsupported` if the file has a header. Otherwise, the handler `raw` would play the header and compressed
    /// data as pictures or sound. `start` is the beginning of the file.
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
