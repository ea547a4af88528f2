import CGStreamer

/// Saves the bytes of a frame, to restore the frame if editing it fails. The memory is reused for every frame.
package final class FrameBackup {
    private let buffer: Buffer
    private let info: VideoInfo

    /// Allocates memory for a frame of the format `info`; `nil` if memory is exhausted.
    package init?(_ info: VideoInfo) {
        guard let buffer = Buffer(size: info.size) else { return nil }
        self.buffer = buffer
        self.info = info
    }

    /// Saves the frame's bytes.
    package func save(_ frame: borrowing MappedVideoFrame) {
        _ = buffer.access.withVideoFrame(info, .readWrite) { gst_video_frame_copy($0.frame, frame.frame) }
    }

    /// Restores the saved bytes in the frame.
    package func restore(_ frame: inout MappedVideoFrame) {
        _ = buffer.access.withVideoFrame(info, .read) { gst_video_frame_copy(frame.frame, $0.frame) }
    }
}
