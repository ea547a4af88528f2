import CGStreamer

/// Blends frames with alpha over a background (`gst_video_blend`); the result is opaque. Use it on one thread at a
/// time.
package final class Backdrop {
    private enum Content: ~Copyable {
        /// A picture in the frames' format and size.
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

    /// Creates a background from a picture, which is scaled and cropped so that it covers frames of the format `info`.
    /// Returns `nil` if the picture can't be converted.
    package convenience init?(_ picture: Picture, behind info: VideoInfo) {
        // The converter refuses different frame rates and interlace modes, which mean nothing for a still picture.
        var source = picture.info
        source.framesPerSecond = info.framesPerSecond
        source.raw.interlace_mode = info.raw.interlace_mode
        guard let pool = VideoBufferPool(info),
            let pixels = VideoConverter(from: source, to: info, crop: picture.part(covering: info), isSmooth: true)?
                .convert(picture.buffer.access)
        else { return nil }
        self.init(.picture(pixels), pool)
    }

    /// Creates a background that is a blurred copy of each frame; `nil` if frames of the format `info` can't be
    /// blurred.
    package convenience init?(blurring info: VideoInfo, radius: Int) {
        let all = VideoConverter.Rectangle(x: 0, y: 0, width: info.width, height: info.height)
        guard let pool = VideoBufferPool(info),
            let blur = RegionBlur(info, region: all, radius: radius)
        else {
            return nil
        }
        self.init(.blurred(blur), pool)
    }

    /// Blends the frame over the background, in place. Returns false if GStreamer can't blend this format or there is
    /// no memory.
    package func fill(behind frame: inout MappedVideoFrame) -> Bool {
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
    /// Returns the largest centered part with the aspect ratio of frames of the format `info`.
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
