import CGStreamer

/// A still picture with alpha, in the format BGRA.
package final class Picture {
    /// The reason why a picture couldn't be created.
    package enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// A required element isn't installed; with the Debian package that contains it.
        case missingElement(String, package: String)
        /// All pixels of the picture are fully transparent.
        case empty
        /// Reading or converting the picture failed, with the reason.
        case failed(String)

        package var description: String {
            switch self {
            case .missingElement(let name, let package): "the element \(name) is missing (package \(package))"
            case .empty: "nothing in the picture is visible"
            case .failed(let reason): reason
            }
        }
    }

    let buffer: Buffer
    let info: VideoInfo
    /// The smallest rectangle that contains all pixels that aren't fully transparent.
    package let visible: VideoConverter.Rectangle

    /// Creates an opaque picture of one color, written as 0xRRGGBB; `nil` if there is no memory.
    package init?(color: UInt32) {
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

    /// Creates a picture from a BGRA buffer. Throws `empty` if all pixels are fully transparent.
    init(_ buffer: consuming Buffer, _ info: VideoInfo) throws(Failure) {
        guard let visible = buffer.access.withVideoFrame(info, .read, { Self.visiblePart(of: $0) }) ?? nil else {
            throw .empty
        }
        self.buffer = buffer
        self.info = info
        self.visible = visible
    }

    /// Reads a PNG file. Blocks while it is read, for 20 s at most.
    package convenience init(pngFile path: String) throws(Failure) {
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
        else { throw .failed("the decoded picture isn't BGRA") }
        try self.init(buffer.retained, info)
    }

    private static func render(_ description: String, _ property: String, _ value: String) throws(Failure) -> Sample {
        do {
            let pipeline = try Pipeline(parsing: description)
            guard let sink = pipeline.element(named: "out").flatMap({ AppSink($0) }) else {
                throw Failure.failed("the pipeline has no appsink")
            }
            try pipeline.element(named: "picture")?.setProperty(property, to: value)
            defer { pipeline.setState(.null) }
            guard pipeline.setState(.paused) != .failure else {
                throw Failure.failed(pipeline.takeError()?.message ?? "can't be opened")
            }
            // If an element fails, the sink gets no buffer, so the bus is checked between the attempts.
            for _ in 0..<100 {
                if let sample = sink.preroll(timeout: .milliseconds(200)) { return sample }
                if let error = pipeline.takeError() { throw Failure.failed(error.message) }
                if sink.isEndOfStream { throw Failure.failed("not a complete PNG picture") }
            }
            throw Failure.failed("couldn't be read within 20 s")
        } catch let failure as Failure {
            throw failure
        } catch {
            throw .failed("\(error)")
        }
    }

    /// Returns the smallest rectangle that contains all pixels that aren't fully transparent; `nil` if there are none.
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
    /// Waits for the first buffer, which an element in PAUSED receives. Returns `nil` if the stream ends before, or no
    /// buffer arrives within `timeout`.
    package func preroll(timeout: Duration) -> Sample? {
        gst_app_sink_try_pull_preroll(raw.assumingMemoryBound(to: GstAppSink.self), GstClockTime(timeout.nanoseconds))
            .map { Sample(taking: $0) }
    }

    /// Whether the stream has ended and all buffers were taken.
    var isEndOfStream: Bool { gst_app_sink_is_eos(raw.assumingMemoryBound(to: GstAppSink.self)) != 0 }
}

extension Pipeline {
    /// Removes the first error from the bus and returns it; `nil` if there is none.
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
