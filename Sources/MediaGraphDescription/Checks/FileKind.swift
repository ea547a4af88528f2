/// A kind of media file, as the extension of its name shows.
package struct FileKind: Equatable {
    /// The name for messages, with its article: "an MP4".
    package let name: String
    /// The file extensions, in lower case.
    package let fileExtensions: [String]
    /// The media types of such a file's content.
    let types: [String]
    /// The element that produces such a file.
    let element: String

    static let all = [
        FileKind("an MP4", ["mp4", "m4v", "m4a", "mov"], ["video/quicktime", "audio/x-m4a"], "mp4mux"),
        FileKind("a WebM", ["webm"], ["video/webm", "audio/webm"], "webmmux"),
        // A WebM file is also a Matroska file.
        FileKind(
            "a Matroska", ["mkv", "mka"], ["video/x-matroska", "audio/x-matroska", "video/webm", "audio/webm"],
            "matroskamux"),
        FileKind("an Ogg", ["ogg", "oga", "ogv", "opus"], ["application/ogg", "audio/ogg", "video/ogg"], "oggmux"),
        FileKind("an AVI", ["avi"], ["video/x-msvideo"], "avimux"),
        FileKind("an FLV", ["flv"], ["video/x-flv"], "flvmux"),
        FileKind("an MPEG-TS", ["ts", "m2ts"], ["video/mpegts"], "mpegtsmux"),
        FileKind("a WAV", ["wav"], ["audio/x-wav", "audio/x-rf64"], "wavenc"),
        FileKind("an MP3", ["mp3"], ["audio/mpeg", "application/x-id3"], "lamemp3enc"),
        FileKind("a FLAC", ["flac"], ["audio/x-flac"], "flacenc"),
        FileKind("a PNG", ["png"], ["image/png"], "pngenc"),
        FileKind("a JPEG", ["jpg", "jpeg"], ["image/jpeg"], "jpegenc"),
    ]

    private init(_ name: String, _ fileExtensions: [String], _ types: [String], _ element: String) {
        (self.name, self.fileExtensions, self.types, self.element) = (name, fileExtensions, types, element)
    }

    /// Whether the file contains encoded streams, so that a muxer writes it.
    var isContainer: Bool { element.hasSuffix("mux") }

    /// The element that demultiplexes such a file; `nil` for files that aren't containers.
    var demuxer: String? {
        switch element {
        case "mp4mux": "qtdemux"
        case "webmmux", "matroskamux": "matroskademux"
        case "oggmux": "oggdemux"
        case "avimux": "avidemux"
        case "flvmux": "flvdemux"
        case "mpegtsmux": "tsdemux"
        default: nil
        }
    }

    /// AAC as a media type of its own, because its caps have the same media type as those of MP3.
    static let aac = "audio/mpeg,mpegversion=4"

    static let demuxers = Set(all.compactMap(\.demuxer))

    /// Returns the kind of file that the path's extension names; `nil` for other extensions.
    package static func of(_ path: String) -> FileKind? {
        let fileExtension = fileExtension(of: path)
        return all.first { $0.fileExtensions.contains(fileExtension) }
    }

    /// Returns the kind of file with one of these media types.
    static func of(types: [String]) -> FileKind? { all.first { !Set($0.types).isDisjoint(with: types) } }

    /// Returns the text after the last dot of the file's name in lower case; empty if the name has no dot.
    package static func fileExtension(of path: String) -> String {
        lastDot(in: path).map { path[path.index(after: $0)...].lowercased() } ?? ""
    }

    /// Returns the path with another extension; unchanged if the file's name has no dot.
    package static func renamed(_ path: String, to fileExtension: String) -> String {
        lastDot(in: path).map { path[...$0] + fileExtension } ?? path
    }

    private static func lastDot(in path: String) -> String.Index? {
        path.lastIndex { "./".contains($0) }.flatMap { path[$0] == "." ? $0 : nil }
    }
}
