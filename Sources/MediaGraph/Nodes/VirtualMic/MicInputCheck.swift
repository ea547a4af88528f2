/// A microphone of a node's own has the place of what comes in at its `sink`: then that goes nowhere. What edits sound needs
/// some that comes in.
struct MicInputCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == VirtualMicElement.declaration.factoryName,
            let handler = element.property("handler"), let name = handler.value
        else { return [] }
        let (makes, edits) = (
            HandlerRegistry.shared.has(.microphone, name), HandlerRegistry.shared.has(.audioProcessor, name)
        )
        if edits, !makes, !element.isFed {
            return [
                handler.diagnostic(
                    "virtualmic's handler \(name) edits what comes in, and nothing does",
                    hint: "put a source before it: autoaudiosrc ! audioconvert ! virtualmic handler=\(name)")
            ]
        }
        guard makes, !edits, element.isFed else { return [] }
        let editors = HandlerRegistry.shared.handlers(.audioProcessor).map(\.name)
        return [
            handler.diagnostic(
                "virtualmic's handler \(name) makes a sound of its own: nobody hears what comes in",
                hint: editors.isEmpty
                    ? "take one of the two away" : "what edits it is handler=\(editors.joined(separator: " or "))",
                severity: .warning)
        ]
    }
}
