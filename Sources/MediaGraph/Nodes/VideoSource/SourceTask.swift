import GStreamer

/// Drives an `AsyncVideoSource`: its task from `startSend` to `stopSend`.
final class SourceTask: VideoSource {
    private struct State: Sendable {
        var sender: VideoSender?
        var task: Task<Void, Never>?
        /// Counts starts; the task of an earlier one may still run.
        var running = false
    }

    private let source: any AsyncVideoSource
    private let monitor = BlockingMonitor(State())

    init(_ source: any AsyncVideoSource) { self.source = source }

    var capabilities: [VideoCapability] { source.capabilities }

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws {
        monitor.withLock { $0.sender = sender }
        try source.initialize(sender: sender, supported: supported, suggested: suggested)
    }

    func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {
        source.propertyChange(supported: supported, suggested: suggested)
    }

    func startSend() throws {
        try source.startSend()
        let isFree = monitor.withLock { state in
            guard !state.running, let sender = state.sender else { return false }
            state.running = true
            state.task = Task.detached(priority: .userInitiated) { [source, monitor] in
                await Self.run(source, sender)
                monitor.withLock { $0.running = false }
            }
            return true
        }
        guard isFree else {
            throw MediaGraphError.alreadyInUse(
                .init(
                    "the source", expected: "its task to have ended after the last stop", actual: "one that still runs")
            )
        }
    }

    private static func run(_ source: any AsyncVideoSource, _ sender: VideoSender) async {
        do {
            try await source.run(sender: sender)
            if !Task.isCancelled { sender.endOfStream() }
        } catch {
            // Whatever a stop brought about is no failure: the gate closes before the task is cancelled.
            guard !Task.isCancelled, sender.isSending else { return }
            sender.fail(MediaGraphError.wrapping(error, "the source"))
        }
    }

    func stopSend() {
        let (task, sender) = monitor.withLock { ($0.task.take(), $0.sender) }
        task?.cancel()
        let timeout = sender?.stopTimeout ?? .zero
        let ended = monitor.wait(timeout: Int64(timeout.nanoseconds / 1000)) { $0.running ? nil : true }
        if ended == nil {
            sender?.warn("the source's task still runs \(timeout.seconds) s after it was cancelled (stop-timeout)")
        }
        source.stopSend()
    }

    func uninitialize() {
        source.uninitialize()
        monitor.withLock { $0.sender = nil }
    }
}
