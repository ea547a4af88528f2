import MediaGraphCore
import MediaGraphDescription

/// A microphone of a node's own has the place of what comes in at its `sink`: then that goes nowhere. What edits sound needs
/// some that comes in.
struct MicInputCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == NodeName.virtualMic,
            let handler = element.property("handler"), let name = handler.value
        else { return [] }
        let (makes, edits) = (
            HandlerRegistry.shared.has(.microphone, name), HandlerRegistry.shared.has(.audioProcessor, name)
        )
        if edits, !makes, !element.isFed {
            return [
                handler.diagnostic(
                    "virtualmic's handler \(name) processes input, but nothing is linked to its sink",
                    hint: "put a source before it: autoaudiosrc ! audioconvert ! virtualmic handler=\(name)")
            ]
        }
        guard makes, !edits, element.isFed else { return [] }
        let editors = HandlerRegistry.shared.handlers(.audioProcessor).map(\.name)
        return [
            handler.diagnostic(
                "virtualmic's handler \(name) generates its own sound, so the input is ignored",
                hint: editors.isEmpty
                    ? "remove the handler or the input"
                    : "to process the input, use handler=\(editors.joined(separator: " or "))",
                severity: .warning)
        ]
    }
}
