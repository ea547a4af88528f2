/// What a user shows to the others in a room. Unlike the user's name, it needn't be unique and may change at any time.
public struct UserProfile: Sendable, Hashable, Codable {
    /// The name to show to people (Zoom's `getUserName`, ZEGO's `userName`). If it is empty, show the user's name.
    public var displayName: String
    /// Text that the application gives a meaning, such as a color or an avatar's address (Zoom's `getCustomIdentity`).
    public var customData: String

    /// Creates a profile. Both texts are empty by default.
    public init(displayName: String = "", customData: String = "") {
        (self.displayName, self.customData) = (displayName, customData)
    }

    /// The greatest length of a display name, in bytes of UTF-8.
    public static let longestDisplayName = 256
    /// The greatest length of custom data, in bytes of UTF-8.
    public static let longestCustomData = 1024

    /// Describes valid texts of these two kinds, for messages; `nil` if the profile's texts are valid.
    package var violatedRequirement: String? {
        Self.requirement(violatedBy: displayName, upTo: Self.longestDisplayName)
            ?? Self.requirement(violatedBy: customData, upTo: Self.longestCustomData)
    }

    private static func requirement(violatedBy text: String, upTo longest: Int) -> String? {
        text.utf8.count > longest || text.utf8.contains(0) ? "at most \(longest) bytes of UTF-8, without NUL" : nil
    }
}
