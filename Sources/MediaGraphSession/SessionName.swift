/// The names of rooms and users.
package enum SessionName {
    /// What the name should be; `nil` when this one is.
    package static func refusal(of name: String) -> String? {
        // A stream's ID is room/user/kind.
        name.isEmpty || name.contains("/") ? "a name that isn't empty and has no slash" : nil
    }
}
