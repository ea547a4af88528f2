/// A `mediasession` must have names that a room and a user can have.
struct SessionNameCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == MediaSessionElement.declaration.factoryName else { return [] }
        return ["room", "user"].compactMap { name in
            guard let property = element.property(name), let value = property.value,
                !(name == "user" && value.isEmpty), let expected = MediaSessionElement.refusal(ofName: value)
            else { return nil }
            return property.diagnostic("a \(name) can't be called \"\(value)\"", hint: "take \(expected)")
        }
    }
}
