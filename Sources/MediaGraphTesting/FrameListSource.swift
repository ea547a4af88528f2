import GStreamer
import MediaGraph
import Synchronization

/// A source that sends a list of frames once, and then ends the stream: attach it to a `videosource`.
///
/// With `pace=fast` no frame is dropped, and the graph ends after the last frame. The timestamp of a frame without one
/// is computed from its index and `rate`.
public final class FrameListSource: VideoSource {
    private let frames: [TestFrame]
    private let rate: Fraction?
    private let sender = Mutex<VideoSender?>(nil)
    private let thread = Mutex<NativeThread?>(nil)

    /// Creates a source of `frames`.
    ///
    /// - Parameter rate: The frame rate in the caps; `nil` for a variable rate. Frames without timestamps are then sent at
    ///   25 frames per second.
    public init(_ frames: [TestFrame], rate: Fraction? = Fraction(25, 1)) {
        self.frames = frames
        self.rate = rate
    }

    /// Keeps the sender.
    public func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        self.sender.withLock { $0 = sender }
    }

    /// Starts a thread that sends the frames.
    public func startSend() throws {
        guard let sender = sender.withLock({ $0 }) else { return }
        thread.withLock { $0 = NativeThread("frame-list") { [self] in send(with: sender) } }
    }

    private func send(with sender: VideoSender) {
        do throws(MediaGraphError) {
            for (index, frame) in frames.enumerated() {
                let timestamp = frame.timestamp ?? .frame(index, at: rate ?? Fraction(25, 1))
                guard sender.wait(until: timestamp) else { return }
                try sender.send(
                    frame.bytes,
                    FrameDescription(
                        width: frame.width, height: frame.height, format: frame.format, rotation: frame.rotation,
                        framesPerSecond: rate, timestamp: timestamp))
            }
            sender.endOfStream()
        } catch {
            // The frame was refused because the graph is stopping, which isn't a failure.
            if case .wrongUsage = error { return }
            sender.fail(error)
        }
    }

    /// Waits for the sending thread to end.
    public func stopSend() { thread.withLock { $0.take() }?.join() }

    /// Releases the sender.
    public func uninitialize() { sender.withLock { $0 = nil } }
}
