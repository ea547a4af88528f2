import MediaGraph

/// The elements of a description that write to standard output: handlers with `location=-`, `fdsink`, `/dev/stdout`.
struct StandardOutputWriters {
    /// Of what kind they are.
    let factories: Set<String>
    /// An error for each, for a command that needs standard output itself.
    let diagnostics: [Diagnostic]

    private static let paths = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]

    init(_ description: Description, _ variables: [String: String]) {
        let writers = description.elements(with: variables).compactMap { element in
            Self.property(of: element).map { (element, $0.0, $0.1) }
        }
        factories = Set(writers.map(\.0.factory))
        diagnostics = writers.map { element, place, option in
            let message = "\(element.factory) writes to standard output, where --json has its lines"
            let hint = "give it a file: \(option)"
            return place.map { $0.diagnostic(message, hint: hint) } ?? element.diagnostic(message, hint: hint)
        }
    }

    /// Where it is said, and what to write instead.
    private static func property(of element: DescribedElement) -> (DescribedProperty?, String)? {
        switch element.factory {
        case "fdsink":
            let descriptor = element.property("fd")
            return descriptor?.value ?? "1" == "1" ? (descriptor, "filesink location=…") : nil
        case "filesink":
            let location = element.property("location")
            return location?.value.map(paths.contains) == true ? (location, "location=…") : nil
        default: break
        }
        guard let handler = element.property("handler"),
            let entry = HandlerRegistry.shared.handlers(of: element.factory).first(where: { $0.name == handler.value })
        else { return nil }
        let options = element.property("options")
        let values = try? HandlerOptions(options?.value ?? "", handler: entry.name)
        for option in entry.options where option.isOutput {
            let value = values?.text(option.name) ?? option.defaultValue
            if value == "-" || paths.contains(value) {
                return (options ?? handler, "options=\"\(option.name)=\(option.example)\"")
            }
        }
        return nil
    }
}
