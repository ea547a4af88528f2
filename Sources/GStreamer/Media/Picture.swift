import CGStreamer

/// One still picture with alpha (BGRA).
public final class Picture {
    /// Why there is no picture.
    public enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// An element that is needed isn't there; the Debian package that has it.
        case missingElement(String, package: String)
        /// Nothing in the picture can be seen.
        case empty
        case failed(String)

        public var description: String {
            switch self {
            case .missingElement(let name, let package): "the element \(name) is missing (package \(package))"
            case .empty: "nothing in the picture is visible"
            case .failed(let reason): reason
            }
        }
    }

    let buffer: Buffer
    let info: VideoInfo
    /// The part outside of which nothing is visible.
    public let visible: VideoConverter.Rectangle

    /// One colour, red, green and blue from the high byte down.
    public init?(color: UInt32) {
        guard let info = VideoInfo(.bgra, width: 16, height: 16), let buffer = Buffer(size: info.size) else {
            return nil
        }
        let pixel = [
            UInt8(truncatingIfNeeded: color), UInt8(truncatingIfNeeded: color >> 8),
            UInt8(truncatingIfNeeded: color >> 16), 255,
        ]
        for index in 0..<16 * 16 { gst_buffer_fill(buffer.raw, gsize(index * 4), pixel, 4) }
        self.buffer = buffer
        self.info = info
        visible = VideoConverter.Rectangle(x: 0, y: 0, width: 16, height: 16)
    }

    /// BGRA; throws when nothing in it can be seen.
    init(_ buffer: consuming Buffer, _ info: VideoInfo) throws(Failure) {
        guard let visible = buffer.access.withVideoFrame(info, .read, { Self.visiblePart(of: $0) }) ?? nil else {
            throw .empty
        }
        self.buffer = buffer
        self.info = info
        self.visible = visible
    }

    /// A PNG file.
    public convenience init(pngFile path: String) throws(Failure) {
        let description = """
            filesrc name=picture ! pngdec ! videoconvert ! video/x-raw, format=BGRA ! appsink name=out
            """
        try self.init(
            rendering: description, property: "location", path,
            needs: [
                ("pngdec", "gstreamer1.0-plugins-good"), ("videoconvert", "gstreamer1.0-plugins-base"),
                ("appsink", "gstreamer1.0-plugins-base"),
            ])
    }

    private convenience init(
        rendering description: String, property: String, _ value: String, needs: [(element: String, package: String)]
    ) throws(Failure) {
        GStreamerRuntime.initialize()
        for (name, package) in needs {
            guard let factory = gst_element_factory_find(name) else { throw .missingElement(name, package: package) }
            gst_object_unref(UnsafeMutableRawPointer(factory))
        }
        let sample = try Self.render(description, property, value)
        guard let buffer = sample.buffer, let caps = sample.caps, let info = VideoInfo(caps), info.format == .bgra
        else { throw .failed("the picture isn't BGRA") }
        try self.init(buffer.retained, info)
    }

    private static func render(_ description: String, _ property: String, _ value: String) throws(Failure) -> Sample {
        do {
            let pipeline = try Pipeline(parsing: description)
            guard let sink = pipeline.element(named: "out").flatMap({ AppSink($0) }) else {
                throw Failure.failed("no appsink")
            }
            try pipeline.element(named: "picture")?.setProperty(property, to: value)
            defer { pipeline.setState(.null) }
            guard pipeline.setState(.paused) != .failure else {
                throw Failure.failed(pipeline.takeError()?.message ?? "it can't be opened")
            }
            // An element that fails leaves the sink waiting: look at the bus in between.
            for _ in 0..<100 {
                if let sample = sink.preroll(timeout: .milliseconds(200)) { return sample }
                if let error = pipeline.takeError() { throw Failure.failed(error.message) }
                if sink.isEndOfStream { throw Failure.failed("no whole PNG picture") }
            }
            throw Failure.failed("it wasn't read within 20 s")
        } catch let failure as Failure {
            throw failure
        } catch {
            throw .failed("\(error)")
        }
    }

    /// The rectangle around all pixels that aren't fully transparent.
    private static func visiblePart(of frame: borrowing MappedVideoFrame) -> VideoConverter.Rectangle? {
        let (width, height, stride) = (frame.width, frame.height, frame.stride(plane: 0))
        let bytes = frame.bytes(plane: 0, rows: height, rowBytes: width * 4)
        var (left, right, top, bottom) = (width, -1, height, -1)
        for y in 0..<height {
            for x in 0..<width where bytes[y * stride + x * 4 + 3] != 0 {
                (left, right, top, bottom) = (min(left, x), max(right, x), min(top, y), max(bottom, y))
            }
        }
        guard right >= left else { return nil }
        return VideoConverter.Rectangle(x: left, y: top, width: right - left + 1, height: bottom - top + 1)
    }
}

extension AppSink {
    /// The first buffer, once the element is PAUSED; `nil` when the stream ended first, or in time none came. Blocks.
    public func preroll(timeout: ClockTime) -> Sample? {
        gst_app_sink_try_pull_preroll(raw.assumingMemoryBound(to: GstAppSink.self), GstClockTime(timeout.nanoseconds))
            .map { Sample(taking: $0) }
    }

    /// Whether the stream has ended and every buffer was taken.
    var isEndOfStream: Bool { gst_app_sink_is_eos(raw.assumingMemoryBound(to: GstAppSink.self)) != 0 }
}

extension Pipeline {
    /// The first error that waits on the bus, taken off it.
    func takeError() -> GLibError? {
        guard let bus = gst_element_get_bus(element) else { return nil }
        defer { gst_object_unref(bus) }
        guard let message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) else { return nil }
        defer { gst_message_unref(message) }
        var error: UnsafeMutablePointer<GError>?
        gst_message_parse_error(message, &error, nil)
        return error.map { GLibError(taking: $0) }
    }
}
