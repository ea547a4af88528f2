import GStreamer

extension Pipeline {
    /// Stops an element and removes it. Locks its state first: the pipeline may be changing its elements' states on another
    /// thread, and would start it again.
    public func stopAndRemove(_ element: Element) {
        element.setStateLocked(true)
        element.setState(.null)
        remove(element)
    }
}
