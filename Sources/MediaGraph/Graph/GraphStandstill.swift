import GStreamer
import MediaGraphCore
import MediaGraphDevices

/// What is to be known of a graph that doesn't start or doesn't stop.
extension Graph {
    /// From the call of `start` until the graph is PLAYING, or has ended.
    public var isStarting: Bool { state.withLock { $0.isStarting } }

    /// The elements in which a change of state is going on at this moment, without the bins around them: a start or a stop
    /// that doesn't return waits for one of these. Of what a `devicesource` opens only that is named. Any thread.
    public var elementsChangingState: [(name: String, factory: String?)] {
        let changing = pipeline.allElements.filter(\.isChangingState)
        let deviceSources = changing.filter { $0.factoryName == NodeName.deviceSource }
        let told = changing.filter { element in !element.ancestors.contains { deviceSources.contains($0) } }
        let bins = Set(told.compactMap(\.parent))
        return told.filter { !bins.contains($0) }.map { ($0.name, $0.factoryName) }
    }
}
