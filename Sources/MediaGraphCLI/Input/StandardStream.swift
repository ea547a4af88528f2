import MediaGraph

/// Standard input or output, which elements and handlers of a description may use.
enum StandardStream {
    case input, output

    private var descriptor: String { self == .input ? "0" : "1" }
    private var paths: [String] {
        [self == .input ? "/dev/stdin" : "/dev/stdout", "/dev/fd/\(descriptor)", "/proc/self/fd/\(descriptor)"]
    }

    /// Returns the property by which an element uses this stream, and what to write instead. `nil` if the element
    /// doesn't use the stream. The property is `nil` if the element uses the stream by default.
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
    /// Creates a diagnostic for one of the element's properties, or for the element itself.
    func diagnostic(at property: DescribedProperty?, _ message: String, hint: String) -> Diagnostic {
        property.map { $0.diagnostic(message, hint: hint) } ?? diagnostic(message, hint: hint)
    }
}

/// The elements of a description that read standard input. Only one element can: several would each get a part of the
/// data.
struct StandardInputReaders {
    /// An error for each element that can't read standard input because something else does.
    let diagnostics: [Diagnostic]

    /// Finds the elements that read standard input.
    ///
    /// - Parameter otherUse: The command's own use of standard input, as the end of the error message, such as
    ///   `is already read by --control`; `nil` if there is none.
    init(_ description: ResolvedDescription, beside otherUse: String? = nil) {
        var firstUse = otherUse
        diagnostics = description.elements.compactMap { element in
            guard let use = StandardStream.input.use(by: element) else { return nil }
            defer { firstUse = firstUse ?? "is already read by another element (\(element.factory))" }
            return firstUse.map {
                element.diagnostic(
                    at: use.property, "\(element.factory) can't read standard input, which \($0)",
                    hint: "give it a file or a FIFO: \(use.instead)")
            }
        }
    }
}

/// The elements of a description that write to standard output.
struct StandardOutputWriters {
    /// The factories of these elements.
    let factories: Set<String>
    /// An error for each element, for a command that needs standard output itself.
    let diagnostics: [Diagnostic]

    init(_ description: ResolvedDescription) {
        let writers = description.elements.compactMap { element in
            StandardStream.output.use(by: element).map { (element, $0) }
        }
        factories = Set(writers.map(\.0.factory))
        diagnostics = writers.map { element, use in
            element.diagnostic(
                at: use.property, "\(element.factory) writes to standard output, which --json needs for its lines",
                hint: "give it a file: \(use.instead)")
        }
    }
}
