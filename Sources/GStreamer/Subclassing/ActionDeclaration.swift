import CGStreamer
import CGStreamerShims

/// An action signal of an element class, which a program emits to make an element do something, such as the `push-buffer`
/// of `appsrc`. In Python: `element.emit("send-text", "bob", "hello")`.
///
/// An action returns `nil` (NULL in C) when it has succeeded, and otherwise a structure that says why it has failed.
public struct ActionDeclaration: Sendable {
    /// The signal's name, such as "send-text".
    public let name: String
    /// What the action does, with its arguments and its result. `gst-inspect-1.0` prints it among the factory's details.
    public let documentation: String
    private let parameters: [GType]
    private let perform: @Sendable (ElementImplementation, UnsafePointer<GValue>) -> Structure?

    /// Declares an action with one argument. `body` is called on the thread that emits the signal, and returns the reason of
    /// a failure.
    public static func action<E: ElementImplementation, A: ValueConvertible>(
        _ name: String, of type: E.Type, _ documentation: String, _ body: @escaping @Sendable (E, A) -> Structure?
    ) -> ActionDeclaration {
        ActionDeclaration(name: name, documentation: documentation, parameters: [A.gtype]) { element, values in
            body(element as! E, argument(values, of: name))
        }
    }

    /// Declares an action with two arguments. `body` is called on the thread that emits the signal, and returns the
    /// reason of a failure.
    public static func action<E: ElementImplementation, A: ValueConvertible, B: ValueConvertible>(
        _ name: String, of type: E.Type, _ documentation: String,
        _ body: @escaping @Sendable (E, A, B) -> Structure?
    ) -> ActionDeclaration {
        ActionDeclaration(name: name, documentation: documentation, parameters: [A.gtype, B.gtype]) { element, values in
            body(element as! E, argument(values, of: name), argument(values + 1, of: name))
        }
    }

    private static func argument<T: ValueConvertible>(_ value: UnsafePointer<GValue>, of name: String) -> T {
        guard let argument = T(Value(copying: value)) else {
            preconditionFailure("GObject has checked the types of \(name)'s arguments")
        }
        return argument
    }

    /// Keeps the declaration for the signal's closure, which is never freed, like the class.
    private final class Handler: Sendable {
        let action: ActionDeclaration
        init(_ action: ActionDeclaration) { self.action = action }
    }

    /// Adds the signal to a class that is being initialized.
    func install(in type: GType) {
        let handler = Unmanaged.passRetained(Handler(self)).toOpaque()
        let closure = g_closure_new_simple(guint(MemoryLayout<GClosure>.size), handler)!
        g_closure_set_marshal(closure) { closure, result, _, values, _, _ in
            let action = Unmanaged<Handler>.fromOpaque(closure!.pointee.data).takeUnretainedValue().action
            let element = ElementClass.implementation(of: UnsafeMutableRawPointer(g_value_get_object(values!)))
            guard let reason = action.perform(element, values! + 1), let result else { return }
            g_value_set_boxed(result, reason.raw)
        }
        let flags = GSignalFlags(rawValue: G_SIGNAL_RUN_LAST.rawValue | G_SIGNAL_ACTION.rawValue)
        var parameters = parameters
        g_signal_newv(
            name, type, flags, closure, nil, nil, nil, gst_structure_get_type(), guint(parameters.count), &parameters)
    }
}

extension Element {
    /// Emits an action signal. Returns the reason of a failure, and `nil` after success. The element must have this action,
    /// with arguments of these types.
    package func perform(_ action: String, _ arguments: any ValueConvertible...) -> Structure? {
        let type = cgst_class_of(raw).assumingMemoryBound(to: GTypeClass.self).pointee.g_type
        let signal = g_signal_lookup(action, type)
        precondition(signal != 0, "\(name) has no action \(action)")
        return withUnsafeTemporaryAllocation(of: GValue.self, capacity: arguments.count + 2) { values in
            values.initialize(repeating: GValue())
            defer { for index in values.indices { g_value_unset(&values[index]) } }
            g_value_init(&values[0], type)
            g_value_set_object(&values[0], raw)
            for (index, argument) in arguments.enumerated() { Self.fill(&values[index + 1], argument) }
            let result = values.baseAddress! + arguments.count + 1
            g_value_init(result, gst_structure_get_type())
            g_signal_emitv(values.baseAddress!, signal, 0, result)
            return g_value_get_boxed(result).map {
                Structure(copying: UnsafePointer($0.assumingMemoryBound(to: GstStructure.self)))
            }
        }
    }

    private static func fill<T: ValueConvertible>(_ value: inout GValue, _ argument: T) {
        g_value_init(&value, T.gtype)
        Value(argument).read { g_value_copy($0, &value) }
    }

    /// Whether the element has an action signal of this name.
    package func hasAction(_ name: String) -> Bool {
        g_signal_lookup(name, cgst_class_of(raw).assumingMemoryBound(to: GTypeClass.self).pointee.g_type) != 0
    }
}
