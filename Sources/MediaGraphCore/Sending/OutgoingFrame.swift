import CMediaGraphABI
import GStreamer

/// A frame in a buffer of the node's pool. Fill it in place, then send it without a copy. A frame that isn't sent
/// returns to the pool.
public struct OutgoingFrame: ~Copyable, Sendable {
    private let buffer: Buffer
    private let caps: Caps
    /// The running time at which to show the frame; `nil` for the time of its arrival.
    public var timestamp: ClockTime?
    /// The clockwise rotation that shows the frame upright.
    public var rotation: Rotation
    private let description: FrameDescription

    package init(_ buffer: consuming Buffer, _ caps: Caps, _ description: FrameDescription) {
        self.buffer = buffer
        self.caps = caps
        self.description = description
        timestamp = description.timestamp
        rotation = description.rotation
    }

    /// Width in pixels.
    public var width: Int { description.width }
    /// Height in pixels.
    public var height: Int { description.height }

    /// Maps the buffer for writing while `body` runs. The strides are GStreamer's and may include padding. Throws
    /// `processingFailed` if the buffer can't be mapped, and rethrows the error of `body`.
    public mutating func withFrame<R>(_ body: (inout VideoFrame) throws -> R) throws -> R {
        let info = VideoInfo(caps)
        let result = try info.flatMap { info in
            try buffer.access.withVideoFrame(info, .readWrite) { mapped in
                var source = MGVideoFrame(
                    mapped: mapped.frame, buffer: buffer.raw, caps: caps.raw, running_time: UInt64(timestamp.raw),
                    presentation_timestamp: UInt64(timestamp.raw), capture_time: 0, rotation: rotation.rawValue)
                return try withUnsafePointer(to: &source) { pointer -> R? in
                    guard var frame = VideoFrame(pointer) else { return nil }
                    return try body(&frame)
                }
            } ?? nil
        }
        guard let result else {
            throw MediaGraphError.processingFailed(.init("frame", actual: "its buffer can't be mapped for writing"))
        }
        return result
    }

    /// Returns the C structure for `send`, which takes ownership of the buffer.
    consuming func handOver() -> MGOutgoingFrame {
        var outgoing = MGOutgoingFrame(description)
        outgoing.timestamp = UInt64(timestamp.raw)
        outgoing.rotation = rotation.rawValue
        outgoing.buffer = buffer.take()
        return outgoing
    }
}
