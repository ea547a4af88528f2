import MediaGraphCore
import MediaGraphSession

extension UserProfile {
    /// Throws `invalidParameter` if a text is too long or contains NUL.
    func validate() throws(MediaGraphError) {
        guard let expected = violatedRequirement else { return }
        throw .invalidParameter(
            .init(
                "the user's display name or custom data", expected: expected,
                actual: "\(displayName.utf8.count) and \(customData.utf8.count) bytes"))
    }
}

extension Session {
    /// Changes the name that the others' programs show for the local user, up to 256 bytes of UTF-8 (Zoom's changeName).
    /// May be called at any time. The others get ``SessionEvent/profileChanged(_:)``.
    ///
    /// Throws `invalidParameter` if the name is too long or contains NUL.
    public func setDisplayName(_ name: String) throws(MediaGraphError) {
        try UserProfile(displayName: name).validate()
        // Can't fail: the property accepts valid names at any time.
        sessionGraph.element.configure("display-name", to: name)
    }

    /// Changes the local user's text for the others' programs, up to 1024 bytes of UTF-8. May be called at any time. The
    /// others get ``SessionEvent/profileChanged(_:)``.
    ///
    /// Throws `invalidParameter` if the text is too long or contains NUL.
    public func setCustomData(_ text: String) throws(MediaGraphError) {
        try UserProfile(customData: text).validate()
        sessionGraph.element.configure("custom-data", to: text)
    }

    /// The profile of the session's own user, in the room or outside of it.
    var ownProfile: UserProfile {
        let element = sessionGraph.element
        return UserProfile(
            displayName: (try? element.property("display-name")) ?? "",
            customData: (try? element.property("custom-data")) ?? "")
    }
}
