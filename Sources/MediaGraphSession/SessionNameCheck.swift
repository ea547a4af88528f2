import MediaGraphCore
import MediaGraphDescription

/// Checks that each `mediasession` has a registered transport, valid names of room and user, and a display name and custom
/// data that aren't too long, that no two sessions join the same room as the same user, and that a session which reads its
/// own user's stream also sends one.
struct SessionNameCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == NodeName.mediaSession else { return [] }
        return ["room", "user"].compactMap { name in
            guard let property = element.property(name), let value = property.value,
                !(name == "user" && value.isEmpty), let expected = SessionName.requirement(violatedBy: value)
            else { return nil }
            return property.diagnostic("\"\(value)\" isn't a valid \(name) name", hint: "choose \(expected)")
        } + longTexts(element) + unknownTransport(element) + invalidTransport(element)
            + invalidVideoConfiguration(element)
            + silence(element)
    }

    /// Finds a display name or custom data that the session would refuse.
    private func longTexts(_ element: DescribedElement) -> [Diagnostic] {
        let limits = [
            ("display-name", UserProfile.longestDisplayName), ("custom-data", UserProfile.longestCustomData),
        ]
        return limits.compactMap { name, longest in
            guard let property = element.property(name), let length = property.value?.utf8.count, length > longest
            else {
                return nil
            }
            return property.diagnostic(
                "\(name) has \(length) bytes of UTF-8", hint: "shorten it to at most \(longest) bytes")
        }
    }

    /// Finds a `video-config` that isn't a size and rate, because GStreamer accepts any text for this string property.
    private func invalidVideoConfiguration(_ element: DescribedElement) -> [Diagnostic] {
        guard let property = element.property("video-config"), let text = property.value,
            VideoCapability(text: text) == nil
        else { return [] }
        return [
            property.diagnostic(
                "\"\(text)\" isn't a valid value for video-config of \(element.factory)",
                hint: "write \(VideoCapability.expected)")
        ]
    }

    private func unknownTransport(_ element: DescribedElement) -> [Diagnostic] {
        guard let property = element.property("transport"), let name = property.value,
            RoomTransportKind.named(name) == nil
        else { return [] }
        let names = RoomTransportKind.all.map(\.name).joined(separator: ", ")
        return [property.diagnostic("there is no transport \"\(name)\"", hint: "available transports: \(names)")]
    }

    /// Finds a transport whose server is missing or isn't one, and a video encoder that the transport can't use.
    private func invalidTransport(_ element: DescribedElement) -> [Diagnostic] {
        let server = element.property("server")
        guard let property = element.property("transport"), let name = property.value,
            let transport = RoomTransportKind.named(name), server == nil || server?.value != nil
        else { return [] }
        var settings = RoomTransportSettings()
        settings.server = server?.value ?? ""
        do throws(MediaGraphError) { try transport.check(settings, SendSettings()) } catch {
            return [(server ?? property).diagnostic("transport \"\(name)\": \(error)")]
        }
        guard let encoder = element.property("video-encoder"), let text = encoder.value else { return [] }
        do throws(MediaGraphError) { try transport.check(settings, SendSettings(videoEncoder: text)) } catch {
            return [encoder.diagnostic("transport \"\(name)\": \(error)")]
        }
        return []
    }

    func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.flatMap { problems(in: $0) } + repeatedUsers(among: elements)
    }

    /// Finds sessions that would be refused when the graph starts, because another one has the same user in the same
    /// room.
    private func repeatedUsers(among elements: [DescribedElement]) -> [Diagnostic] {
        struct Membership: Hashable {
            let user: String
            let room: String
            let transport: String
            let server: String
        }
        var seen: Set<Membership> = []
        return elements.compactMap { element in
            guard element.factory == NodeName.mediaSession,
                element.properties.allSatisfy({ $0.value != nil }),
                // A session with `join` may join after the other one has left.
                element.property("join") == nil
            else { return nil }
            func given(_ name: String) -> DescribedProperty? {
                element.properties.last { $0.name == name && $0.value?.isEmpty == false }
            }
            guard let name = given("user")?.value ?? element.name, let user = given("user") ?? given("name") else {
                return nil
            }
            let room = given("room")?.value ?? MediaSessionElement.defaultSettings.room
            let transport = given("transport")?.value ?? MediaSessionElement.defaultSettings.transport
            guard
                !seen.insert(
                    Membership(user: name, room: room, transport: transport, server: given("server")?.value ?? "")
                ).inserted
            else { return nil }
            return user.diagnostic(
                "another mediasession already joins room \"\(room)\" as \"\(name)\"",
                hint: "give each session a user= of its own, or another room= or transport=")
        }
    }

    /// Finds a session that reads its own user's stream but sends nothing.
    private func silence(_ element: DescribedElement) -> [Diagnostic] {
        guard !element.hasInput, let user = element.property("user")?.value,
            let kind = StreamKind.allCases.first(where: {
                element.sourcePads.contains($0.outputPrefix + PadName.escape(user))
            })
        else { return [] }
        return [
            element.diagnostic(
                "user \"\(user)\" reads its own stream, but sends none",
                hint: element.name.map { "link a source: … ! \($0).\(kind.inputPad)" }
                    ?? "link a source to its pad \(kind.inputPad)",
                severity: .warning)
        ]
    }
}

extension MediaSessionElement {
    static var checks: [any DescriptionCheck] { [SessionNameCheck()] }
}
