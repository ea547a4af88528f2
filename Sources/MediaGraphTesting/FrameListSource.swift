import GStreamer
import MediaGraph
import Synchronization

/// A source that sends the frames it is given, once, and then ends the stream: attach it to a `videosource`.
///
/// With `pace=fast` none is lost, and a graph's run is over when the last has gone through. A frame without a timestamp
/// gets its number's at `rate`.
public final class FrameListSource: VideoSource {
    private let frames: [TestFrame]
    private let rate: Fraction?
    private let sender = Mutex<VideoSender?>(nil)
    private let thread = Mutex<NativeThread?>(nil)

    /// `rate` is what the caps say; `nil` for a variable one, with 25 frames a second where no frame has a timestamp.
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
            // Refused because the graph stops: no failure.
            if case .wrongUsage = error { return }
            sender.fail(error)
        }
    }

    /// Waits for the sending thread to end.
    public func stopSend() { thread.withLock { $0.take() }?.join() }

    /// Releases the sender.
    public func uninitialize() { sender.withLock { $0 = nil } }
}
