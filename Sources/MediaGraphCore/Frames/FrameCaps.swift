import GStreamer

/// The raw video that nodes carry, as caps.
package enum FrameCaps {
    /// Formats that the nodes carry, as caps list them.
    package static let formatNames = VideoFormat.allCases.map(\.gstreamerName).joined(separator: ", ")

    /// Raw video in memory that the CPU reads.
    package static let systemMemory = Caps("video/x-raw, format={ \(formatNames) }")!.constant

    /// Caps with just these formats, in this order of preference.
    package static func of(formats: [VideoFormat]) -> Caps {
        guard !formats.isEmpty else { return systemMemory }
        return Caps("video/x-raw, format={ \(formats.map(\.gstreamerName).joined(separator: ", ")) }")!
    }
}

extension Caps {
    /// Whether these caps describe whole frames in a format that `accepted` allows. Caps with one field per buffer don't:
    /// handlers take whole frames.
    package func areFrames(in accepted: Caps) -> Bool {
        guard isSubset(of: accepted), let info = VideoInfo(self) else { return false }
        return !info.isFieldPerBuffer
    }
}
