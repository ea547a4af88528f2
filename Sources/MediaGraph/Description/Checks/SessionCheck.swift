/// A user is in a room once: the second of a name would be refused when the graph starts.
enum SessionCheck {
    private struct Place: Hashable {
        let user: String
        let room: String
    }

    static func problems(in context: CheckContext) -> [Problem] {
        var seen: Set<Place> = []
        return context.parsed.elements.compactMap { element in
            guard element.factory == MediaSessionElement.declaration.factoryName,
                !element.properties.contains(where: \.isUnknown),
                // Which joins later may, when the other has left.
                !element.properties.contains(where: { $0.name == "join" })
            else { return nil }
            func value(_ name: String) -> ParsedProperty? {
                element.properties.last { $0.name == name && !$0.value.isEmpty }
            }
            guard let user = value("user") ?? element.name else { return nil }
            let place = Place(
                user: user.value, room: value("room")?.value ?? MediaSessionElement.defaultSettings.room)
            guard !seen.insert(place).inserted else { return nil }
            return Problem(
                place: .expanded(user.valueRange),
                message: "user \"\(place.user)\" is in room \"\(place.room)\" already, by another mediasession",
                hint: "give each session a user= of its own, or another room=")
        }
    }
}
