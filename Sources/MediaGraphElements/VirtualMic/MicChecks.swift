import MediaGraphCore
import MediaGraphDescription

/// Reports an audio processor without input, and warns about input that a node's own microphone replaces.
struct MicInputCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == NodeName.virtualMic,
            let handler = element.property("handler"), let name = handler.value
        else { return [] }
        let isMicrophone = HandlerRegistry.shared.has(.microphone, name)
        let isProcessor = HandlerRegistry.shared.has(.audioProcessor, name)
        if isProcessor, !isMicrophone, !element.hasInput {
            return [
                handler.diagnostic(
                    "virtualmic's handler \(name) processes input, but nothing is linked to its sink",
                    hint: "put a source before it: autoaudiosrc ! audioconvert ! virtualmic handler=\(name)")
            ]
        }
        guard isMicrophone, !isProcessor, element.hasInput else { return [] }
        let processors = HandlerRegistry.shared.handlers(.audioProcessor).map(\.name)
        return [
            handler.diagnostic(
                "virtualmic's handler \(name) generates its own sound, so the input is ignored",
                hint: processors.isEmpty
                    ? "remove the handler or the input"
                    : "to process the input, use handler=\(processors.joined(separator: " or "))",
                severity: .warning)
        ]
    }
}

/// Reports a handler that sends two channels to a `virtualmic` without `stereo=true`.
struct MicChannelsCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == NodeName.virtualMic, let handler = element.property("handler"),
            let options = element.property("options"), let text = options.value,
            let values = try? HandlerOptions(text, handler: handler.value ?? ""), values.text("channels") == "2",
            !element.sets("stereo", to: true)
        else { return [] }
        return [
            options.diagnostic(
                "the handler sends two channels, but virtualmic has stereo=false", hint: "add stereo=true"
            )
            .narrowed(toOption: "channels")
        ]
    }
}
