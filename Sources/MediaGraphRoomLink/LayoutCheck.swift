import GStreamer

/// Checks that frames' planes are inside their memory. Remembers the last layout, so that equal ones aren't checked
/// again.
struct LayoutCheck: Sendable {
    private var known: (layout: VideoLayout, size: Int)?

    /// Whether all planes of the layout are inside a memory of this size.
    mutating func fits(_ layout: VideoLayout, in size: Int) -> Bool {
        if let known, known == (layout, size) { return true }
        guard layout.fits(in: size) else { return false }
        known = (layout, size)
        return true
    }
}
