import GStreamer

/// Whether frames' planes lie in their memory; of the same layout as the last it is known.
struct LayoutCheck: Sendable {
    private var known: (layout: VideoLayout, size: Int)?

    mutating func fits(_ layout: VideoLayout, in size: Int) -> Bool {
        if let known, known == (layout, size) { return true }
        guard layout.fits(in: size) else { return false }
        known = (layout, size)
        return true
    }
}
