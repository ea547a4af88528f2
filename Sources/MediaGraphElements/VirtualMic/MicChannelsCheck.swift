import MediaGraphCore
import MediaGraphDescription

/// Two channels leave a microphone only where it says so.
struct MicChannelsCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == NodeName.virtualMic, let handler = element.property("handler"),
            let options = element.property("options"), let text = options.value,
            let values = try? HandlerOptions(text, handler: handler.value ?? ""), values.text("channels") == "2",
            !element.sets("stereo", to: true)
        else { return [] }
        return [
            options.diagnostic("two channels are sent, and virtualmic has stereo=false", hint: "add stereo=true")
                .narrowed(toOption: "channels")
        ]
    }
}
