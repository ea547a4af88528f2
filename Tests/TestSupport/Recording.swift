import GStreamer
import MediaGraph
import Synchronization

/// A list that several threads append to.
public final class Log<Entry: Sendable>: Sendable {
    private let entries = Mutex<[Entry]>([])
    public init() {}
    public func add(_ entry: Entry) { entries.withLock { $0.append(entry) } }
    public func removeAll() { entries.withLock { $0 = [] } }
    public var all: [Entry] { entries.withLock { $0 } }
}

/// A source that records its calls; the test sends through its sender.
public final class RecordingSource: VideoSource {
    /// The capabilities that the source declares.
    public let capabilities: [VideoCapability]
    /// The names of the methods that the node has called, in order.
    public let calls = Log<String>()
    /// The calls without `propertyChange`, which the readers in a session may cause at any time.
    public var stateCalls: [String] { calls.all.filter { $0 != "propertyChange" } }
    private let state = Mutex<(sender: VideoSender?, supported: [VideoCapability], suggested: VideoCapability?)>(
        (nil, [], nil))
    private let onStart: @Sendable (VideoSender) throws -> Void
    private let onInitialize: @Sendable (VideoSender) throws -> Void

    /// Creates a source whose closures run inside `initialize` and `startSend`.
    public init(
        capabilities: [VideoCapability] = [], onInitialize: @escaping @Sendable (VideoSender) throws -> Void = { _ in },
        onStart: @escaping @Sendable (VideoSender) throws -> Void = { _ in }
    ) {
        self.capabilities = capabilities
        self.onInitialize = onInitialize
        self.onStart = onStart
    }

    /// The sender of the last initialization.
    public var sender: VideoSender { state.withLock { $0.sender! } }
    /// The capabilities that downstream supports, as the node passed them last.
    public var supported: [VideoCapability] { state.withLock { $0.supported } }
    /// All capabilities that the node has suggested, in order.
    public let suggestions = Log<VideoCapability?>()
    /// The capability that the node suggested last.
    public var suggested: VideoCapability? { state.withLock { $0.suggested } }

    public func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws {
        // Under the lock, so that a test that has seen one of these values finds the others too.
        state.withLock {
            $0 = (sender, supported, suggested)
            suggestions.add(suggested)
            calls.add("initialize")
        }
        try onInitialize(sender)
    }

    public func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {
        state.withLock {
            ($0.supported, $0.suggested) = (supported, suggested)
            suggestions.add(suggested)
            calls.add("propertyChange")
        }
    }

    public func startSend() throws {
        calls.add("startSend")
        try onStart(sender)
    }

    public func stopSend() { calls.add("stopSend") }
    public func uninitialize() { calls.add("uninitialize") }
}

/// Returns the bytes of a frame; each byte depends on its position and on `seed`.
public func patternedFrame(_ format: VideoFormat = .i420, width: Int, height: Int, seed: Int = 0) -> [UInt8] {
    (0..<format.packedLength(width: width, height: height)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ seed &* 13) }
}

/// Sends a frame, and again each time that the queue stays full for `block-timeout`, a thousand times at most.
public func sendRepeatedly(_ sender: VideoSender, _ bytes: [UInt8], _ frame: FrameDescription) async throws {
    for _ in 1..<1000 {
        do {
            return try await sender.send(bytes, frame)
        } catch let error as MediaGraphError where error.code == .timeOut {}
    }
    try await sender.send(bytes, frame)
}

/// Sends a frame as `sendRepeatedly` does, with the blocking call.
public func sendRepeatedlyNow(
    _ sender: VideoSender, _ bytes: [UInt8], _ frame: FrameDescription
) throws(MediaGraphError) {
    for _ in 1..<1000 {
        do throws(MediaGraphError) { return try sender.send(bytes, frame) } catch {
            guard error.code == .timeOut else { throw error }
        }
    }
    try sender.send(bytes, frame)
}

/// Sends a frame with the blocking call, which Swift forbids in `async` functions such as tests.
public func sendNow(
    _ sender: VideoSender, _ bytes: [UInt8], _ frame: FrameDescription
) throws(MediaGraphError) { try sender.send(bytes, frame) }
