import CGStreamer

/// Fills the transparent parts of frames, which are opaque then, with what is behind them (`gst_video_blend`). Belongs to
/// one thread at a time.
public final class Backdrop {
    private enum Content: ~Copyable {
        /// Ready in the frames' format and size.
        case picture(Buffer)
        /// The frame itself, blurred.
        case blurred(RegionBlur)
    }

    private let content: Content
    private let pool: VideoBufferPool

    private init(_ content: consuming Content, _ pool: VideoBufferPool) {
        self.content = content
        self.pool = pool
    }

    /// A picture behind frames of `info`, as large as covers them, its middle in theirs. `nil` when it can't be converted.
    public convenience init?(_ picture: Picture, behind info: VideoInfo) {
        // The converter insists on one rate and one interlacing, though a still picture has none to speak of.
        var source = picture.info
        source.framesPerSecond = info.framesPerSecond
        source.raw.interlace_mode = info.raw.interlace_mode
        guard let pool = VideoBufferPool(info),
            let pixels = VideoConverter(from: source, to: info, crop: picture.part(covering: info), isSmooth: true)?
                .convert(picture.buffer.access)
        else { return nil }
        self.init(.picture(pixels), pool)
    }

    /// Frames of `info` behind themselves, blurred.
    public convenience init?(blurring info: VideoInfo, radius: Int) {
        let all = VideoConverter.Rectangle(x: 0, y: 0, width: info.width, height: info.height)
        guard let pool = VideoBufferPool(info),
            let blur = RegionBlur(info, region: all, radius: radius)
        else {
            return nil
        }
        self.init(.blurred(blur), pool)
    }

    /// False when GStreamer can't blend this format, or has no memory.
    public func fill(behind frame: inout MappedVideoFrame) -> Bool {
        guard let result = pool.acquire() else { return false }
        return result.access.withVideoFrame(pool.info, .readWrite) { target in
            guard prepare(&target, for: frame),
                gst_video_blend(target.frame, frame.frame, 0, 0, 1) != 0
            else { return false }
            return gst_video_frame_copy(frame.frame, target.frame) != 0
        } ?? false
    }

    private func prepare(_ target: inout MappedVideoFrame, for frame: borrowing MappedVideoFrame) -> Bool {
        switch content {
        case .picture(let buffer):
            return buffer.access.withVideoFrame(pool.info, .read) { gst_video_frame_copy(target.frame, $0.frame) != 0 }
                ?? false
        case .blurred(let blur):
            guard gst_video_frame_copy(target.frame, frame.frame) != 0, blur.apply(to: &target) else { return false }
            target.makeOpaque()
            return true
        }
    }
}

extension Picture {
    /// The largest part in the middle that has the aspect of frames of `info`.
    fileprivate func part(covering info: VideoInfo) -> VideoConverter.Rectangle {
        let pixelAspect = info.pixelAspectRatio.value > 0 ? info.pixelAspectRatio.value : 1
        let aspect = Double(info.width) * pixelAspect / Double(info.height)
        let (width, height) = (Double(self.info.width), Double(self.info.height))
        let size = width / height > aspect ? (height * aspect, height) : (width, width / aspect)
        let (columns, rows) = (max(1, Int(size.0.rounded())), max(1, Int(size.1.rounded())))
        return VideoConverter.Rectangle(
            x: (self.info.width - columns) / 2, y: (self.info.height - rows) / 2, width: columns, height: rows)
    }
}
