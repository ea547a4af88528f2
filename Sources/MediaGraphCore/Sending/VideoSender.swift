import CGStreamer
import CMediaGraphABI
import GStreamer

/// What a source sends its frames with. Any thread; it outlives the graph, and then refuses.
///
/// `@unchecked Sendable`: as its superclass.
public final class VideoSender: MediaSender, @unchecked Sendable {
    let abi: MGVideoSender

    init(_ abi: MGVideoSender) {
        self.abi = abi
        super.init(abi.control)
    }

    /// Sends one frame whose planes lie one behind the other without padding. One copy.
    ///
    /// Waits while the node's queue is full and its pace is `fast`; never inside `startSend`. Throws
    /// `invalidParameter` for a length, size or format that can't be, with what was expected; `wrongUsage` outside
    /// `startSend`…`stopSend`; `timeOut` when the queue stayed full for `block-timeout`, which a live
    /// source has by default and a fast one hasn't.
    @available(*, noasync, message: "blocks under back-pressure; send from a thread of your own")
    public func send(_ bytes: Span<UInt8>, _ frame: FrameDescription) throws(MediaGraphError) {
        try bytes.withUnsafeBytes { (memory) throws(MediaGraphError) in
            try send(memory.baseAddress, length: memory.count, frame, release: nil, context: nil)
        }
    }

    /// Sends the bytes of an array.
    @available(*, noasync, message: "blocks under back-pressure; send from a thread of your own")
    public func send(_ bytes: [UInt8], _ frame: FrameDescription) throws(MediaGraphError) {
        try send(bytes.span, frame)
    }

    /// The SDKs' shape. `dataLength` is `width*height*3/2` for I420 of even size (chroma is rounded up for odd).
    @available(*, noasync, message: "blocks under back-pressure; send from a thread of your own")
    public func sendVideoFrame(
        _ buffer: UnsafeRawPointer, width: Int, height: Int, dataLength: Int, rotation: Rotation = .none,
        format: FrameFormat = .i420
    ) throws(MediaGraphError) {
        try send(
            buffer, length: dataLength,
            FrameDescription(width: width, height: height, format: format, rotation: rotation),
            release: nil, context: nil)
    }

    /// Hands memory over without a copy, where GStreamer's layout is packed at this size (else it is copied once).
    /// `release` runs exactly once, on any thread, also when this throws; until then the memory must stay as it is.
    @available(*, noasync, message: "blocks under back-pressure; send from a thread of your own")
    public func send(
        owning memory: UnsafeMutableRawBufferPointer, _ frame: FrameDescription,
        release: @convention(c) (UnsafeMutableRawPointer?) -> Void, context: UnsafeMutableRawPointer?
    ) throws(MediaGraphError) {
        try send(UnsafeRawPointer(memory.baseAddress), length: memory.count, frame, release: release, context: context)
    }

    /// Sends a frame that was made by `makeFrame`: nothing is copied.
    @available(*, noasync, message: "blocks under back-pressure; send from a thread of your own")
    public func send(_ frame: consuming OutgoingFrame) throws(MediaGraphError) {
        var outgoing = frame.handOver()
        try MediaGraphError.check { abi.send(control.context, &outgoing, $0) }
    }

    /// A frame of the node's own pool, to be filled in place and sent: nothing is copied. Its bytes are whatever they were.
    /// Any time from `initialize` on; throws as `send` does.
    public func makeFrame(_ frame: FrameDescription) throws(MediaGraphError) -> OutgoingFrame {
        var outgoing = MGOutgoingFrame(frame)
        var buffer: UnsafeMutablePointer<GstBuffer>?
        var caps: UnsafeMutablePointer<GstCaps>?
        try MediaGraphError.check { abi.acquire(control.context, &outgoing, &buffer, &caps, $0) }
        return OutgoingFrame(Buffer(taking: buffer!), Caps(taking: caps!), frame)
    }

    private func send(
        _ data: UnsafeRawPointer?, length: Int, _ frame: FrameDescription,
        release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, context: UnsafeMutableRawPointer?
    ) throws(MediaGraphError) {
        var outgoing = MGOutgoingFrame(frame)
        outgoing.data = data
        outgoing.length = Int64(length)
        outgoing.release = release
        outgoing.release_context = context
        try MediaGraphError.check { abi.send(control.context, &outgoing, $0) }
    }
}

extension MGOutgoingFrame {
    /// All but its bytes.
    init(_ frame: FrameDescription) {
        self.init(
            data: nil, length: 0, width: Int32(clamping: frame.width), height: Int32(clamping: frame.height),
            rotation: frame.rotation.rawValue, format: frame.format.pixelFormat.raw,
            range: frame.format.range == .limited ? GST_VIDEO_COLOR_RANGE_16_235 : GST_VIDEO_COLOR_RANGE_0_255,
            rate_numerator: frame.framesPerSecond?.numerator ?? 0,
            rate_denominator: frame.framesPerSecond?.denominator ?? 1,
            aspect_numerator: frame.pixelAspectRatio.numerator, aspect_denominator: frame.pixelAspectRatio.denominator,
            timestamp: UInt64(frame.timestamp.raw), release: nil, release_context: nil, buffer: nil)
    }
}
