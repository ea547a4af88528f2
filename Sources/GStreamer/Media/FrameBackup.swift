import CGStreamer

/// Room for the bytes of one frame, used again for each: to have a frame as it was, after somebody failed at editing it.
public final class FrameBackup {
    private let buffer: Buffer
    private let info: VideoInfo

    /// `nil` when there is no memory.
    public init?(_ info: VideoInfo) {
        guard let buffer = Buffer(size: info.size) else { return nil }
        self.buffer = buffer
        self.info = info
    }

    /// Copies the frame's bytes here.
    public func save(_ frame: borrowing MappedVideoFrame) {
        _ = buffer.access.withVideoFrame(info, .readWrite) { gst_video_frame_copy($0.frame, frame.frame) }
    }

    /// Gives the frame the bytes that were saved.
    public func restore(_ frame: inout MappedVideoFrame) {
        _ = buffer.access.withVideoFrame(info, .read) { gst_video_frame_copy(frame.frame, $0.frame) }
    }
}
