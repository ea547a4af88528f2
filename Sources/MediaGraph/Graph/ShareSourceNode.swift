import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphElements

/// A `sharesource` of a graph: what a user shares, with or without sound.
public struct ShareSourceNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// What the picture's source has sent.
    public var statistics: NodeCounts { NodeCounts(element) ?? .none }

    /// What the sound's source has sent.
    public var audioStatistics: NodeCounts {
        (try? element.property("audio-stats", as: Structure.self)).map(NodeCounts.init) ?? .none
    }

    // MARK: Before the graph is started

    /// Gives the node its picture's source, before the graph is started. The node holds it.
    public func attach(_ source: some ShareSource) throws(MediaGraphError) {
        try checkIsStopped()
        try setSource(source)
    }

    /// Gives the node its sound's source, before the graph is started. The node holds it.
    public func attach(audioSource source: some ShareAudioSource) throws(MediaGraphError) {
        try checkIsStopped()
        try setAudioSource(source)
    }

    /// Leaves the node without sources, while the graph doesn't run: those that were attached, and those that `handler=` and
    /// `audio-handler=` name.
    public func detach() throws(MediaGraphError) {
        try checkIsStopped()
        try removeSources()
    }

    /// A source that runs is stopped first, which is nothing to wait for in a task.
    private func checkIsStopped() throws(MediaGraphError) {
        guard element.state == .null else {
            throw .lockedWhileRunning(
                .init(
                    "\(name)'s source",
                    expected: "to be attached before the graph starts, or given to startSharing while it runs"))
        }
    }

    // MARK: While it runs

    /// Shares what these sources send, from now on: in a session that has been joined, say. One of the two may be `nil`, as
    /// where only sound is shared. They stay until ``stopSharing()``. A pad that nothing is linked to gets nothing, with a
    /// warning.
    ///
    /// To hear the share's sound here too, put a `tee` behind the node's `audio`.
    ///
    /// Throws `alreadyInUse` while something is shared, and then nothing has changed.
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

    /// Ends the share: when it returns, its sources have been stopped and nothing of theirs leaves any more.
    public func stopSharing() async throws(MediaGraphError) {
        try await graph.onControlQueue { () throws(MediaGraphError) in try removeSources() }
    }

    /// Stops the sources for a while: whoever reads the share is told that its streams are off, and nothing leaves any more
    /// when it returns. Before the graph runs, it begins paused.
    public func pause() async throws(MediaGraphError) { try await setPaused(true) }

    /// Starts the sources again after ``pause()``.
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
    /// The `sharesource` of that name. Throws `noSuchNode` or `wrongKind`.
    public func shareSource(_ name: String) throws(GraphError) -> ShareSourceNode {
        ShareSourceNode(graph: self, element: try node(name, "sharesource"))
    }
}
