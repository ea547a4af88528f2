import MediaGraph

/// Standard input or output, as elements and handlers of a description use it.
enum StandardStream {
    case input, output

    private var descriptor: String { self == .input ? "0" : "1" }
    private var paths: [String] {
        [self == .input ? "/dev/stdin" : "/dev/stdout", "/dev/fd/\(descriptor)", "/proc/self/fd/\(descriptor)"]
    }

    /// Where an element says that it uses it, if at all that is said, and what to write instead; `nil`: it doesn't.
    func use(by element: DescribedElement) -> (property: DescribedProperty?, instead: String)? {
        let (byDescriptor, byPath) = self == .input ? ("fdsrc", "filesrc") : ("fdsink", "filesink")
        switch element.factory {
        case byDescriptor:
            let property = element.property("fd")
            return property?.value ?? descriptor == descriptor ? (property, "\(byPath) location=…") : nil
        case byPath:
            let location = element.property("location")
            return location?.value.map(paths.contains) == true ? (location, "location=…") : nil
        default: return useByHandler(of: element)
        }
    }

    private func useByHandler(of element: DescribedElement) -> (property: DescribedProperty?, instead: String)? {
        guard let handler = element.property("handler"),
            let entry = HandlerRegistry.shared.handlers(of: element.factory).first(where: { $0.name == handler.value })
        else { return nil }
        let options = element.property("options")
        let values = try? HandlerOptions(options?.value ?? "", handler: entry.name)
        for option in entry.options where self == .input ? option.isInput : option.isOutput {
            let value = values?.text(option.name) ?? option.defaultValue
            if value == "-" || paths.contains(value) {
                return (options ?? handler, "options=\"\(option.name)=\(option.example)\"")
            }
        }
        return nil
    }
}

extension DescribedElement {
    /// At one of its properties, or at itself.
    func diagnostic(at property: DescribedProperty?, _ message: String, hint: String) -> Diagnostic {
        property.map { $0.diagnostic(message, hint: hint) } ?? diagnostic(message, hint: hint)
    }
}
