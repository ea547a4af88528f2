import GStreamer

/// Caps of the raw video that nodes carry.
package enum FrameCaps {
    /// The formats that nodes carry, as a list for caps.
    package static let formatNames = VideoFormat.allCases.map(\.gstreamerName).joined(separator: ", ")

    /// Raw video in system memory, in any format that nodes carry.
    package static let systemMemory = Caps("video/x-raw, format={ \(formatNames) }")!.constant

    /// Caps with only these formats, in this order of preference; all formats if the list is empty.
    package static func of(formats: [VideoFormat]) -> Caps {
        guard !formats.isEmpty else { return systemMemory }
        return Caps("video/x-raw, format={ \(formats.map(\.gstreamerName).joined(separator: ", ")) }")!
    }
}

extension Caps {
    /// Returns whether these caps describe whole frames in a format that `accepted` allows. False for caps with one
    /// field per buffer: handlers take whole frames.
    package func areFrames(in accepted: Caps) -> Bool {
        guard isSubset(of: accepted), let info = VideoInfo(self) else { return false }
        return !info.isFieldPerBuffer
    }
}
