import GStreamer
import MediaGraphCore

/// Writes a PNG file with thumbnails at the end of the stream:
/// `rawdatapipe handler=contactsheet options="location=sheet.png,columns=5"`.
///
/// With `every=N`, the sheet shows frames 0, N, 2N … until it is full. By default, the frames are spread evenly over
/// the stream, whatever its length: the handler keeps at most twice the sheet's number of thumbnails, and drops every
/// second one when there are more. Thumbnails are upright, have square pixels, and keep their aspect ratio within a
/// cell, which has the aspect ratio of the first frame. A graph that is stopped early writes the thumbnails so far. A
/// stream without frames writes no file.
///
/// Throws `unsupported` at the start if the encoder is missing, and `invalidParameter` at the first frame if the file
/// can't be written.
struct ContactSheet: VideoConsumer, NamedHandler, InterruptibleHandler {
    static let name = "contactsheet"
    static let summary = "One PNG of thumbnails, written at the end of the stream"
    static let options = [
        HandlerOption("location", example: "sheet.png", isOutput: true, "the PNG file"),
        HandlerOption("columns", default: "4", "thumbnails side by side, 1 to 32"),
        HandlerOption("rows", default: "4", "maximum rows of thumbnails, 1 to 32"),
        HandlerOption("every", default: "0", "frames from one thumbnail to the next; 0 spreads them over the stream"),
        HandlerOption("width", default: "240", "width of a thumbnail in pixels, 16 to 1024"),
    ]

    let interruption = Interruption()
    private let location: String
    private let columns: Int
    private let rows: Int
    private let every: Int
    private let cellWidth: Int
    private var cellHeight = 0
    private var frames = 0
    private var selection: FrameSelection
    private var thumbnails: [Thumbnail] = []
    private var scaler: Scaler?

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        location = try options.string("location")
        try PictureFile.check(location, option: "option location of contactsheet")
        columns = try options.int("columns", in: 1...32, default: 4)
        rows = try options.int("rows", in: 1...32, default: 4)
        every = try options.int("every", in: 0...1_000_000, default: 0)
        cellWidth = try options.int("width", in: 16...1024, default: 240)
        selection = FrameSelection(room: columns * rows, every: every)
        try MediaGraphError.checkPNGEncoder()
    }

    mutating func receive(_ frame: borrowing VideoFrame) throws {
        // Report a file that can't be written now rather than at the end of a long stream.
        if frames == 0 { try ByteWriter.checkCanWrite(location, option: "option location of contactsheet") }
        defer { frames += 1 }
        switch selection.consider(frames) {
        case .skip: return
        case .take: break
        case .thinOutAndTake:
            thumbnails = stride(from: 0, to: thumbnails.count, by: 2).map { thumbnails[$0] }
        }
        if cellHeight == 0 {
            let size = Scaler.size(of: frame.info, frame.orientation, within: (cellWidth, 1024))
            cellHeight = size.height
        }
        if scaler?.input != frame.info || scaler?.orientation != frame.orientation {
            scaler = try Scaler(frame.info, frame.orientation, within: (cellWidth, cellHeight))
        }
        thumbnails.append(try scaler!.thumbnail(of: frame))
    }

    mutating func finish() throws {
        let shown = selection.final(thumbnails.count).map { thumbnails[$0] }
        guard !shown.isEmpty else { return }
        var sheet = Sheet(
            columns: min(columns, shown.count), rows: (shown.count + columns - 1) / columns,
            cell: (cellWidth, cellHeight))
        for (index, thumbnail) in shown.enumerated() {
            sheet.paste(thumbnail, column: index % columns, row: index / columns)
        }
        let png: [UInt8]
        do {
            png = try PNGEncoder.encode(packed: sheet.pixels.span, .rgb24, width: sheet.width, height: sheet.height)
        } catch {
            throw MediaGraphError(error)
        }
        try ByteWriter.writeFile(
            location, png, option: "option location of contactsheet", interruption: interruption)
        // The thumbnails stay: after a seek back, the next sheet, which replaces this one, has to show all frames.
    }
}

/// Selects frames of a stream of unknown length so that they are evenly spread over the stream when it ends.
struct FrameSelection {
    enum Decision: Equatable {
        case skip
        case take
        /// Drop every second of the kept frames, beginning with the second one, then keep this frame.
        case thinOutAndTake
    }

    private let room: Int
    private let isFixed: Bool
    private var step: Int
    private var kept = 0

    /// - Parameters:
    ///   - room: the number of frames that the sheet shows.
    ///   - every: the distance between frames, or 0 to spread them evenly.
    init(room: Int, every: Int) {
        self.room = room
        isFixed = every > 0
        step = max(1, every)
    }

    mutating func consider(_ index: Int) -> Decision {
        guard index % step == 0 else { return .skip }
        if isFixed {
            guard kept < room else { return .skip }
        } else if kept == 2 * room {
            // The number of kept frames is even, so the index of this frame is a multiple of twice the step.
            kept = room + 1
            step *= 2
            return .thinOutAndTake
        }
        kept += 1
        return .take
    }

    /// Returns the indices of the frames to show, of `count` kept ones: the first, the last, and evenly spaced ones
    /// between.
    func final(_ count: Int) -> [Int] {
        guard count > room else { return Array(0..<count) }
        guard room > 1 else { return [0] }
        return (0..<room).map { ($0 * (count - 1) + (room - 1) / 2) / (room - 1) }
    }
}
