import CMediaGraphABI
import Foundation
import GStreamer

extension BufferAccess {
    /// Lends the buffer to `body` as a frame, for code that calls a handler without a node. `info` describes the
    /// buffer's layout.
    package func withFrame<R>(
        _ info: VideoInfo, timestamp: ClockTime?, captureTime: Date?, rotation: Rotation,
        _ body: (inout VideoFrame) throws -> R
    ) throws -> R {
        let caps = info.caps
        let result = try withVideoFrame(info, .readWrite) { mapped in
            var source = MGVideoFrame(
                mapped: mapped.frame, buffer: raw, caps: caps.raw, running_time: UInt64(timestamp.raw),
                presentation_timestamp: UInt64(timestamp.raw), capture_time: captureTime?.unixNanoseconds ?? 0,
                rotation: rotation.rawValue)
            return try withUnsafePointer(to: &source) { pointer in
                guard var frame = VideoFrame(pointer) else {
                    throw MediaGraphError.unsupported(.init("frame", actual: info.formatName))
                }
                return try body(&frame)
            }
        }
        guard let result else {
            throw MediaGraphError.internalError(.init("frame", actual: "its buffer can't be mapped"))
        }
        return result
    }
}
