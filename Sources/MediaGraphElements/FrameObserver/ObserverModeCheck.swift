import MediaGraphCore
import MediaGraphDescription

/// Checks that the `mode=` of a `frameobserver` matches its handler. Otherwise the element doesn't start.
struct ObserverModeCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == HandlerRegistry.Kind.observer.node, let handler = element.property("handler"),
            let entry = HandlerRegistry.shared.handlers(.observer).first(where: { $0.name == handler.value }),
            let edits = entry.edits
        else { return [] }
        let mode = element.property("mode")
        // A value with an undefined variable can't be checked.
        if let mode, mode.value == nil { return [] }
        let writes = mode.map {
            [ObserverMode.readWrite.nick, "\(ObserverMode.readWrite.rawValue)"].contains($0.value)
        }
        guard edits != (writes ?? (FrameObserverSettings().mode == .readWrite)) else { return [] }
        return [
            edits
                ? (mode ?? handler).diagnostic(
                    "handler \(entry.name) edits frames, which \(element.factory) allows only with mode=read-write",
                    hint: mode == nil ? "add mode=read-write" : "write mode=read-write")
                : (mode ?? handler).diagnostic(
                    "handler \(entry.name) only reads frames, but mode is read-write",
                    hint: "leave out mode=read-write")
        ]
    }
}

extension FrameObserverElement {
    static var checks: [any DescriptionCheck] { [ObserverModeCheck()] }
}
