/// A kind of media file that a name's ending stands for.
package struct FileKind: Equatable {
    /// As people call it, with its article.
    package let name: String
    package let endings: [String]
    /// The media types of what is written into it.
    let types: [String]
    /// The element that makes one.
    let element: String

    static let all = [
        FileKind("an MP4", ["mp4", "m4v", "m4a", "mov"], ["video/quicktime", "audio/x-m4a"], "mp4mux"),
        FileKind("a WebM", ["webm"], ["video/webm", "audio/webm"], "webmmux"),
        // WebM is Matroska too.
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

    private init(_ name: String, _ endings: [String], _ types: [String], _ element: String) {
        (self.name, self.endings, self.types, self.element) = (name, endings, types, element)
    }

    /// Whether it holds what encoders make.
    var isContainer: Bool { element.hasSuffix("mux") }

    /// The element that takes its streams out of it.
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

    static let demuxers = Set(all.compactMap(\.demuxer))

    /// By the name's ending.
    package static func of(_ path: String) -> FileKind? {
        let ending = ending(of: path)
        return all.first { $0.endings.contains(ending) }
    }

    static func of(types: [String]) -> FileKind? { all.first { !Set($0.types).isDisjoint(with: types) } }

    package static func ending(of path: String) -> String {
        path.lastIndex(of: ".").map { path[path.index(after: $0)...].lowercased() } ?? ""
    }

    /// The path with another ending.
    package static func renamed(_ path: String, to ending: String) -> String {
        path.lastIndex(of: ".").map { path[...$0] + ending } ?? path
    }
}
