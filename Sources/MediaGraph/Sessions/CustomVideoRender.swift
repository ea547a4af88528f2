import MediaGraphCore

/// How a session's pipes, share pipes and previews deliver video (ZEGO's `ZegoCustomVideoRenderConfig`).
///
/// The settings are properties of the `rawdatapipe` elements. They are part of the ``SessionContext`` and can't change
/// while the session runs.
public struct CustomVideoRender: Sendable, Hashable {
    /// Whether delegates get raw pixels, native buffers or encoded access units. With the latter two, `subscribe`
    /// accepts only the resolution `native`.
    public var bufferType: BufferType
    /// The pixel format of raw and native frames: a series (`yuv` means I420, `rgb` means BGRA), one format, or `auto`,
    /// which means I420 for raw frames (A420 for those with an alpha plane) and the stream's format for native ones. A
    /// subscription may ask for another format.
    public var format: PipeFormat
    /// Elements that show each pipe's frames in addition to the delegates (enableEngineRender), as a description that
    /// accepts video, such as `videoconvert ! autovideosink`. Each pipe has such elements of its own while it has
    /// subscribers; ``SessionPipe/setCanvas(_:)`` and ``SessionPreview/setCanvas(_:)`` set others for one pipe, with or
    /// without subscribers. `nil` if only delegates get the frames.
    public var engineRender: String?

    /// Creates a configuration. By default delegates alone get raw I420 frames.
    public init(bufferType: BufferType = .raw, format: PipeFormat = .auto, engineRender: String? = nil) {
        self.bufferType = bufferType
        self.format = format
        self.engineRender = engineRender
    }

    /// Throws `wrongUsage` for settings that exclude each other, and `invalidParameter` for an invalid `engineRender`.
    func validate() throws(MediaGraphError) {
        if bufferType == .encoded, format != .auto {
            throw .wrongUsage(
                .init(
                    "the session's customVideoRender",
                    actual: "can't convert encoded video to a format; leave format out, or choose another bufferType"))
        }
        if let engineRender { try PipeCanvas.validate(engineRender) }
    }

    /// The settings as properties of a `rawdatapipe`, without defaults.
    var properties: [(name: String, text: String)] {
        var properties: [(name: String, text: String)] = []
        if bufferType != .raw { properties.append(("buffer-type", bufferType.nick)) }
        if format != .auto { properties.append(("format", format.nick)) }
        return properties
    }
}
