/// A `mediasession` must have names that a room and a user can have; and who reads what he sends himself must send something.
struct SessionNameCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == MediaSessionElement.declaration.factoryName else { return [] }
        return ["room", "user"].compactMap { name in
            guard let property = element.property(name), let value = property.value,
                !(name == "user" && value.isEmpty), let expected = MediaSessionElement.refusal(ofName: value)
            else { return nil }
            return property.diagnostic("\"\(value)\" isn't a valid \(name) name", hint: "use \(expected)")
        } + silence(element)
    }

    private func silence(_ element: DescribedElement) -> [Diagnostic] {
        guard !element.isFed, let user = element.property("user")?.value,
            let kind = StreamKind.allCases.first(where: {
                element.sourcePads.contains($0.outputPrefix + PadName.escape(user))
            })
        else { return [] }
        return [
            element.diagnostic(
                "\(user) reads its own stream but sends nothing",
                hint: "link a source to its pad \(kind.inputPad)",
                severity: .warning)
        ]
    }
}
