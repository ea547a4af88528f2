import MediaGraphCore

/// How a session's pipes and previews hand video over (ZEGO's `ZegoCustomVideoRenderConfig`): the properties of their
/// `rawdatapipe`s. Part of the context, so it is settled before the session is joined; the elements refuse to have it changed
/// while they run.
public struct CustomVideoRender: Sendable, Hashable {
    /// Raw pixels, the buffer as it comes, or access units. For the latter two `subscribe` takes the resolution `native` only.
    public var bufferType: BufferType
    /// A series (`yuv`: I420, `rgb`: BGRA) or one format; `auto`: I420.
    public var format: PipeFormat
    /// Where each pipe's frames are shown besides (enableEngineRender), as a description of elements that takes video:
    /// `videoconvert ! autovideosink`. `nil`: frames go to delegates only.
    public var engineRender: String?

    /// Raw frames in the stream's own format, drawn by the application alone, unless told otherwise.
    public init(bufferType: BufferType = .raw, format: PipeFormat = .auto, engineRender: String? = nil) {
        self.bufferType = bufferType
        self.format = format
        self.engineRender = engineRender
    }

    var properties: [(name: String, text: String)] {
        var properties: [(name: String, text: String)] = []
        if bufferType != .raw { properties.append(("buffer-type", bufferType.nick)) }
        if format != .auto { properties.append(("format", format.nick)) }
        if engineRender != nil { properties.append(("engine-render", "true")) }
        return properties
    }
}
