import CGStreamer
import CGStreamerShims

/// The arguments of a signal while its handlers run.
package struct SignalArguments: ~Copyable {
    private let values: UnsafeBufferPointer<GValue>

    fileprivate init(_ values: UnsafeBufferPointer<GValue>) { self.values = values }

    /// Returns the argument at an index; `nil` if it has another type. The object that emits the signal doesn't count.
    package subscript<T: ValueConvertible>(_ index: Int, as type: T.Type = T.self) -> T? {
        guard values.indices.contains(index + 1) else { return nil }
        return T(Value(copying: values.baseAddress! + index + 1))
    }

    /// Returns the object at an index, without a new reference; `nil` if the argument isn't an object.
    package func object(_ index: Int) -> UnsafeMutableRawPointer? {
        guard values.indices.contains(index + 1) else { return nil }
        let value = values.baseAddress! + index + 1
        return g_type_check_value_holds(value, cgst_type_object) != 0
            ? g_value_get_object(value).map { UnsafeMutableRawPointer($0) } : nil
    }
}

/// An argument with which a program emits an action signal. The types aren't converted: they must be the signal's.
package enum SignalArgument {
    case unsigned(UInt32)
    case integer(Int32)
    case enumeration(Int32)
    /// `nil` is NULL.
    case string(String?)
    case object(UnsafeMutableRawPointer?)
    /// A boxed value, such as caps or a promise. The signal copies it, or adds a reference.
    case boxed(UnsafeRawPointer?)
}

private final class SignalHandler: Sendable {
    let body: @Sendable (borrowing SignalArguments) -> Void
    init(_ body: @escaping @Sendable (borrowing SignalArguments) -> Void) { self.body = body }
}

extension ObjectReference {
    /// Calls `body` whenever the object emits the signal, on the thread that emits it. The object retains `body` until it
    /// is freed or disposes of its handlers. The object must have the signal.
    package func onSignal(_ name: String, _ body: @escaping @Sendable (borrowing SignalArguments) -> Void) {
        let handler = Unmanaged.passRetained(SignalHandler(body)).toOpaque()
        let closure = g_closure_new_simple(guint(MemoryLayout<GClosure>.size), handler)!
        g_closure_set_marshal(closure) { closure, _, count, values, _, _ in
            let handler = Unmanaged<SignalHandler>.fromOpaque(closure!.pointee.data).takeUnretainedValue()
            handler.body(SignalArguments(UnsafeBufferPointer(start: values, count: Int(count))))
        }
        g_closure_add_finalize_notifier(closure, handler) { handler, _ in
            Unmanaged<SignalHandler>.fromOpaque(handler!).release()
        }
        g_signal_connect_closure(raw, name, closure, 0)
    }

    /// Emits an action signal, which the object must have with arguments of these types. Returns the object that it
    /// returns, if any, with a new reference, which the caller takes over.
    @discardableResult
    package func emit(_ name: String, _ arguments: SignalArgument...) -> UnsafeMutableRawPointer? {
        let signal = g_signal_lookup(name, gtype)
        precondition(signal != 0, "\(typeName) has no signal \(name)")
        var query = GSignalQuery()
        g_signal_query(signal, &query)
        precondition(query.n_params == arguments.count, "\(name) has \(query.n_params) arguments")
        return withUnsafeTemporaryAllocation(of: GValue.self, capacity: arguments.count + 1) { values in
            values.initialize(repeating: GValue())
            defer { for index in values.indices { g_value_unset(&values[index]) } }
            g_value_init(&values[0], gtype)
            g_value_set_object(&values[0], raw)
            for (index, argument) in arguments.enumerated() {
                // The lowest bit is a flag.
                g_value_init(&values[index + 1], query.param_types[index] & ~1)
                argument.store(in: &values[index + 1])
            }
            let type = query.return_type & ~1
            guard type != cgst_type_none else {
                g_signal_emitv(values.baseAddress!, signal, 0, nil)
                return nil
            }
            var result = GValue()
            g_value_init(&result, type)
            defer { g_value_unset(&result) }
            g_signal_emitv(values.baseAddress!, signal, 0, &result)
            guard g_type_is_a(type, cgst_type_object) != 0 else { return nil }
            return g_value_dup_object(&result).map { UnsafeMutableRawPointer($0) }
        }
    }

    private var gtype: GType { cgst_class_of(raw).assumingMemoryBound(to: GTypeClass.self).pointee.g_type }
}

extension SignalArgument {
    fileprivate func store(in value: inout GValue) {
        switch self {
        case .unsigned(let number): g_value_set_uint(&value, number)
        case .integer(let number): g_value_set_int(&value, number)
        case .enumeration(let number): g_value_set_enum(&value, number)
        case .string(let text): g_value_set_string(&value, text)
        case .object(let object): g_value_set_object(&value, object)
        case .boxed(let pointer): g_value_set_boxed(&value, pointer)
        }
    }
}
