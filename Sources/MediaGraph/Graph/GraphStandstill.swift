import GStreamer
import MediaGraphCore
import MediaGraphDevices

/// Diagnosis of a graph whose start or stop doesn't return.
extension Graph {
    /// Whether the graph has been started and hasn't reached PLAYING or its end yet.
    public var isStarting: Bool { state.withLock { $0.isStarting } }

    /// The elements that are changing state at this moment, without the bins around them. A start or stop that doesn't
    /// return waits for one of these. A `devicesource` is listed instead of the elements inside it. Callable from any
    /// thread.
    public var elementsChangingState: [(name: String, factory: String?)] {
        let changing = pipeline.allElements.filter(\.isChangingState)
        let deviceSources = changing.filter { $0.factoryName == NodeName.deviceSource }
        let told = changing.filter { element in !element.ancestors.contains { deviceSources.contains($0) } }
        let bins = Set(told.compactMap(\.parent))
        return told.filter { !bins.contains($0) }.map { ($0.name, $0.factoryName) }
    }
}
