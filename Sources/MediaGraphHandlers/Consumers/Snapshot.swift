import GStreamer
import MediaGraphCore

/// Saves every Nth frame as a PNG file: `rawdatapipe handler=snapshot options="location=shot-%05d.png,every=30"`.
///
/// Snapshots are numbered from 0; `%d` or `%0Nd` in the name stands for the number. A name without a number is refused
/// unless `limit=1`, because each picture would overwrite the previous one. Pictures are upright; with `upright=false`,
/// the pixels stay as they are stored. Pixels that aren't square stay so (with a `resolution`, the pipe makes them
/// square). Alpha is kept.
///
/// Encoding takes about 50 ms at 720p. Meanwhile, a live stream drops frames (see `backpressure`), and any other stream
/// waits. Throws `unsupported` at the start if the encoder is missing, and `invalidParameter` if a file can't be
/// written.
struct Snapshot: VideoConsumer, NamedHandler, InterruptibleHandler {
    static let name = "snapshot"
    static let summary = "Saves every Nth frame as PNG"
    static let options = [
        HandlerOption(
            "location", example: "shot-%03d.png", isOutput: true, "the files' name, with %d or %0Nd for the number"),
        HandlerOption("every", default: "30", "frames from one snapshot to the next, beginning with the first frame"),
        HandlerOption("limit", default: "0", "maximum number of snapshots; 0 for no limit"),
        HandlerOption("upright", default: "true", "turn and flip pictures by their rotation and orientation tag"),
    ]

    let interruption = Interruption()
    private let location: FileNamePattern
    private let every: Int
    private let limit: Int
    private let isUpright: Bool
    private var frames = 0
    private var taken = 0

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        let name = try options.string("location")
        try PictureFile.check(name, option: "option location of snapshot")
        location = try FileNamePattern(name, option: "option location of snapshot")
        every = try options.int("every", in: 1...1_000_000, default: 30)
        limit = try options.int("limit", in: 0...1_000_000, default: 0)
        isUpright = try options.bool("upright", default: true)
        guard location.isNumbered || limit == 1 else {
            throw MediaGraphError.invalidParameter(
                .init(
                    "option location of snapshot",
                    actual:
                        "each picture would overwrite \"\(name)\"; write %d in the name for the picture's number, or set limit=1"
                ))
        }
        try MediaGraphError.checkPNGEncoder()
    }

    mutating func receive(_ frame: borrowing VideoFrame) throws {
        defer { frames += 1 }
        guard frames % every == 0, limit == 0 || taken < limit else { return }
        let png = try frame.png(isUpright: isUpright)
        try ByteWriter.writeFile(
            location.name(taken), png, option: "option location of snapshot", interruption: interruption)
        taken += 1
    }
}
