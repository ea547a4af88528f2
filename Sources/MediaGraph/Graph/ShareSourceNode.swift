import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphElements

/// A `sharesource` of a graph: the video and audio that a user shares.
public struct ShareSourceNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// The counters of the shared video.
    public var statistics: NodeCounts { NodeCounts(element) ?? .none }

    /// The counters of the shared audio.
    public var audioStatistics: NodeCounts {
        (try? element.property("audio-stats", as: Structure.self)).map(NodeCounts.init) ?? .none
    }

    // MARK: Before the graph is started

    /// Attaches the video source. Call this before the graph is started. The node keeps a strong reference to it.
    public func attach(_ source: some ShareSource) throws(MediaGraphError) {
        try checkIsStopped()
        try setSource(source)
    }

    /// Attaches the audio source. Call this before the graph is started. The node keeps a strong reference to it.
    public func attach(audioSource source: some ShareAudioSource) throws(MediaGraphError) {
        try checkIsStopped()
        try setAudioSource(source)
    }

    /// Removes both sources, whether they were attached or named by `handler=` and `audio-handler=`. Call this while
    /// the graph isn't running.
    public func detach() throws(MediaGraphError) {
        try checkIsStopped()
        try removeSources()
    }

    /// Throws while the graph runs: detaching would block the calling task until the running source has stopped.
    private func checkIsStopped() throws(MediaGraphError) {
        guard element.state == .null else {
            throw .lockedWhileRunning(
                .init(
                    "\(name)'s sources",
                    actual: "can't be attached or detached while the graph runs; use startSharing and stopSharing"))
        }
    }

    // MARK: While it runs

    /// Starts sharing what these sources send, until ``stopSharing()``. Either source may be `nil`, for example to
    /// share only audio. Frames for a pad that isn't linked are dropped, with a warning.
    ///
    /// To play the share's audio locally too, put a `tee` behind the node's `audio` pad.
    ///
    /// Throws `alreadyInUse`, and changes nothing, while something is already shared.
    public func startSharing(
        _ source: (any ShareSource)?, audioSource: (any ShareAudioSource)? = nil
    ) async throws(MediaGraphError) {
        try await graph.onControlQueue { () throws(MediaGraphError) in
            if let source { try setSource(source) }
            guard let audioSource else { return }
            do throws(MediaGraphError) { try setAudioSource(audioSource) } catch {
                if source != nil { try NodeVTable.detach(MGVideoSource.self, from: element) }
                throw error
            }
        }
    }

    /// Ends the share. When this returns, its sources have stopped and none of their frames leave the node any more.
    public func stopSharing() async throws(MediaGraphError) {
        try await graph.onControlQueue { () throws(MediaGraphError) in try removeSources() }
    }

    /// Pauses the share: stops its sources, and tells its readers that the streams are off. When this returns, no
    /// frames leave the node any more. If called before the graph runs, the share starts paused.
    public func pause() async throws(MediaGraphError) { try await setPaused(true) }

    /// Restarts the sources after ``pause()``.
    public func resume() async throws(MediaGraphError) { try await setPaused(false) }

    /// Whether the share is paused.
    public var isPaused: Bool { (try? element.property("paused", as: Bool.self)) ?? false }

    private func setPaused(_ isPaused: Bool) async throws(MediaGraphError) {
        try await graph.onControlQueue { () throws(MediaGraphError) in
            do throws(PropertyError) { try element.setProperty("paused", to: isPaused) } catch {
                throw .wrapping(error, name)
            }
        }
    }

    private func setSource(_ source: any ShareSource) throws(MediaGraphError) {
        try NodeVTable.attach(MGVideoSource(ShareVideo(source), name: typeName(type(of: source))), to: element)
    }

    private func setAudioSource(_ source: any ShareAudioSource) throws(MediaGraphError) {
        try NodeVTable.attach(MGAudioSource(ShareAudio(source), name: typeName(type(of: source))), to: element)
    }

    private func removeSources() throws(MediaGraphError) {
        try NodeVTable.detach(MGVideoSource.self, from: element)
        try NodeVTable.detach(MGAudioSource.self, from: element)
    }
}

extension Graph {
    /// Returns the `sharesource` of that name. Throws `noSuchNode` or `wrongKind`.
    public func shareSource(_ name: String) throws(GraphError) -> ShareSourceNode {
        ShareSourceNode(graph: self, element: try node(name, "sharesource"))
    }
}
