/// The names of rooms and users.
package enum SessionName {
    /// Describes a valid name, for messages; `nil` if `name` is valid.
    package static func requirement(violatedBy name: String) -> String? {
        // A stream's ID is room/user/kind.
        name.isEmpty || name.contains("/") ? "a name that isn't empty and has no slash" : nil
    }
}
