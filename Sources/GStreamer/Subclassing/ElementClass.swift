import CGStreamer
import CGStreamerShims
import Synchronization

/// Thrown when an element class can't be registered.
public enum RegistrationError: Error, Sendable, CustomStringConvertible {
    /// Another copy of the code in this process has registered the class with another ABI version.
    case abiMismatch(typeName: String, ours: Int, theirs: Int)
    /// GStreamer refused to register the element factory.
    case refused(factoryName: String)

    /// The error as a message for users.
    public var description: String {
        switch self {
        case .abiMismatch(let typeName, let ours, let theirs):
            """
            \(typeName) is already registered in this process with ABI version \(theirs), and this copy has version \
            \(ours); load only one version
            """
        case .refused(let factoryName): "GStreamer refused to register \(factoryName)"
        }
    }
}

/// A plugin file during its `plugin_init` function.
public struct Plugin {
    package let raw: OpaquePointer

    /// Wraps the argument of a plugin's `plugin_init` function.
    public init(_ raw: OpaquePointer) { self.raw = raw }
}

/// Registers Swift classes as GStreamer element classes.
///
/// The instance that GObject allocates consists of the parent's structure and a pointer to the Swift implementation,
/// which is retained from `instance_init` to `finalize`.
public enum ElementClass {
    private static let descriptionQuark = g_quark_from_string("mediagraph-element-class")
    private static let abiQuark = g_quark_from_string("mediagraph-abi")

    /// The data by which a GType's class functions find the Swift implementation. Never freed, like the GType.
    final class Description: Sendable {
        let implementation: ElementImplementation.Type
        let declaration: ElementDeclaration
        let instanceOffset: Int

        init(_ implementation: ElementImplementation.Type, instanceOffset: Int) {
            self.implementation = implementation
            declaration = implementation.declaration
            self.instanceOffset = instanceOffset
        }
    }

    /// Registers the class under its factory name, as a feature of `plugin` or, if that is `nil`, for this process
    /// only.
    ///
    /// If another copy of this code has registered the class already, uses that one; throws `abiMismatch` if its ABI
    /// version is different.
    public static func register(_ implementation: ElementImplementation.Type, in plugin: Plugin? = nil)
        throws(RegistrationError)
    {
        GStreamerRuntime.initialize()
        let declaration = implementation.declaration
        let type = try type(for: implementation)
        guard gst_element_register(plugin?.raw, declaration.factoryName, 0, type) != 0 else {
            throw .refused(factoryName: declaration.factoryName)
        }
    }

    /// Creates an element without using a factory, for classes that have no factory name. Without `name` the element
    /// gets a unique name.
    public static func make(
        _ implementation: ElementImplementation.Type, name: String? = nil
    ) throws(RegistrationError) -> Element {
        GStreamerRuntime.initialize()
        let object = g_object_new_with_properties(try type(for: implementation), 0, nil, nil)
        let element = Element(taking: UnsafeMutableRawPointer(object!))
        if let name { gst_object_set_name(element.object, name) }
        return element
    }

    /// Prevents two threads from registering the same class at once.
    private static let registering = Mutex(())

    private static func type(for implementation: ElementImplementation.Type) throws(RegistrationError) -> GType {
        try registering.withLock { (_) throws(RegistrationError) in try findOrRegister(implementation) }
    }

    private static func findOrRegister(
        _ implementation: ElementImplementation.Type
    ) throws(RegistrationError) -> GType {
        let declaration = implementation.declaration
        let known = g_type_from_name(declaration.typeName)
        if known != 0 {
            let abi = Int(bitPattern: g_type_get_qdata(known, abiQuark))
            guard abi == declaration.abiVersion else {
                throw .abiMismatch(typeName: declaration.typeName, ours: declaration.abiVersion, theirs: abi)
            }
            return known
        }
        let parent = (implementation as! any ParentClass.Type).parentType
        var query = GTypeQuery()
        g_type_query(parent, &query)
        let description = Description(implementation, instanceOffset: Int(query.instance_size))
        let opaque = Unmanaged.passRetained(description).toOpaque()
        var info = GTypeInfo()
        info.class_size = UInt16(query.class_size)
        info.instance_size = UInt16(Int(query.instance_size) + MemoryLayout<UnsafeMutableRawPointer>.size)
        info.class_data = UnsafeRawPointer(opaque)
        info.class_init = { ElementClass.initializeClass($0!, $1!) }
        info.instance_init = { instance, klass in ElementClass.initializeInstance(instance!, klass!) }
        let type = g_type_register_static(parent, declaration.typeName, &info, GTypeFlags(rawValue: 0))
        g_type_set_qdata(type, descriptionQuark, opaque)
        g_type_set_qdata(type, abiQuark, UnsafeMutableRawPointer(bitPattern: declaration.abiVersion))
        return type
    }

    private static func initializeClass(_ klass: gpointer, _ data: gpointer) {
        let description = Unmanaged<Description>.fromOpaque(data).takeUnretainedValue()
        let declaration = description.declaration

        let object = klass.assumingMemoryBound(to: GObjectClass.self)
        object.pointee.get_property = { object, id, value, _ in
            ElementClass.getProperty(object!, Int(id), value!)
        }
        object.pointee.set_property = { object, id, value, _ in
            ElementClass.setProperty(object!, Int(id), value!)
        }
        object.pointee.finalize = { ElementClass.finalize($0!) }
        for (index, property) in declaration.properties.enumerated() {
            g_object_class_install_property(object, guint(index + 1), property.specification())
        }
        for action in declaration.actions { action.install(in: object.pointee.g_type_class.g_type) }

        let element = klass.assumingMemoryBound(to: GstElementClass.self)
        gst_element_class_set_metadata(
            element, declaration.longName, declaration.classification, declaration.summary, declaration.author)
        for action in declaration.actions {
            gst_element_class_add_metadata(element, "action-\(action.name)", action.documentation)
        }
        for message in declaration.messages {
            // GStreamer's registry refuses the whole plugin if a key isn't a valid field name of a structure.
            gst_element_class_add_metadata(element, "message-\(message.name)", message.documentation)
        }
        for template in declaration.padTemplates { gst_element_class_add_pad_template(element, template.make()) }
        element.pointee.change_state = { element, change in
            let implementation = ElementClass.implementation(of: element!)
            if change == GST_STATE_CHANGE_NULL_TO_READY, !implementation.retryRefusedValues() {
                return GST_STATE_CHANGE_FAILURE
            }
            return implementation.changeState(StateChange(change)).raw
        }
        if declaration.padTemplates.contains(where: { $0.presence == .request }) {
            element.pointee.request_new_pad = { element, template, name, _ in
                let template = String(cString: template!.pointee.name_template)
                return ElementClass.implementation(of: element!)
                    .requestPad(template, name: name.map { String(cString: $0) })?.raw
            }
            element.pointee.release_pad = { element, pad in
                ElementClass.implementation(of: element!).releasePad(GhostPad(pad!))
            }
        }
        (description.implementation as! any ParentClass.Type).installClassFunctions(klass)
    }

    private static func initializeInstance(_ instance: UnsafeMutablePointer<GTypeInstance>, _ klass: gpointer) {
        let raw = UnsafeMutableRawPointer(instance)
        let description = description(of: klass)
        let implementation = description.implementation.init(instance: ElementInstance(raw))
        raw.storeBytes(
            of: Unmanaged.passRetained(implementation).toOpaque(), toByteOffset: description.instanceOffset,
            as: UnsafeMutableRawPointer.self)
    }

    private static func finalize(_ object: UnsafeMutablePointer<GObject>) {
        let raw = UnsafeMutableRawPointer(object)
        let offset = description(of: cgst_class_of(raw)).instanceOffset
        Unmanaged<ElementImplementation>
            .fromOpaque(raw.load(fromByteOffset: offset, as: UnsafeMutableRawPointer.self)).release()
        parentClass(of: ElementInstance(raw)).assumingMemoryBound(to: GObjectClass.self).pointee.finalize(object)
    }

    private static func getProperty(
        _ object: UnsafeMutablePointer<GObject>, _ id: Int, _ value: UnsafeMutablePointer<GValue>
    ) {
        let implementation = implementation(of: object)
        var result = Value(type: value.pointee.g_type)
        description(of: cgst_class_of(object)).declaration.properties[id - 1].read(implementation, &result)
        result.read { g_value_copy($0, value) }
    }

    private static func setProperty(_ object: UnsafeMutablePointer<GObject>, _ id: Int, _ value: UnsafePointer<GValue>)
    {
        let implementation = implementation(of: object)
        let property = description(of: cgst_class_of(object)).declaration.properties[id - 1]
        do throws(PropertyRefused) {
            switch property.mutability {
            case .untilInitialized where !implementation.isInNull:
                throw PropertyRefused(
                    "it is locked outside NULL, because it is read on the way to READY; set it in NULL")
            case .untilPaused where implementation.isRunning:
                throw PropertyRefused("it is locked while the element is running; set it in NULL or READY")
            case .untilInitialized, .untilPaused, .always: break
            }
            try property.write?(implementation, Value(copying: value))
            implementation.removeRefusedValue(of: property)
        } catch {
            if implementation.isInNull, !PropertyRefusal.isAwaited(object) {
                implementation.remember(RefusedValue(Value(copying: value), of: property))
            }
            // The warning comes first: its handler may set other properties, which would clear the reason.
            if !PropertyRefusal.isQuiet(object) {
                implementation.postWarning(.settings, "\(property.name) keeps its value: \(error.reason)")
            }
            PropertyRefusal.leave(error, on: object)
        }
    }

    // MARK: From an instance to its Swift implementation

    private static func description(of klass: UnsafeMutableRawPointer) -> Description {
        let type = klass.assumingMemoryBound(to: GTypeClass.self).pointee.g_type
        return Unmanaged<Description>.fromOpaque(g_type_get_qdata(type, descriptionQuark)).takeUnretainedValue()
    }

    static func implementation(of instance: UnsafeMutableRawPointer) -> ElementImplementation {
        let offset = description(of: cgst_class_of(instance)).instanceOffset
        return implementation(of: instance, offset: offset)
    }

    /// Returns the instance's implementation; `nil` if it doesn't exist yet. For class functions that may run during
    /// `instance_init`.
    static func implementationIfInitialized(of instance: UnsafeMutableRawPointer) -> ElementImplementation? {
        let offset = description(of: cgst_class_of(instance)).instanceOffset
        return instance.load(fromByteOffset: offset, as: UnsafeMutableRawPointer?.self).map {
            Unmanaged<ElementImplementation>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// Returns the implementation of an instance whose parent structure has `offset` bytes. For class functions that
    /// run for each buffer: they know the offset and need no lookup.
    @inline(__always)
    static func implementation(of instance: UnsafeMutableRawPointer, offset: Int) -> ElementImplementation {
        Unmanaged<ElementImplementation>
            .fromOpaque(instance.load(fromByteOffset: offset, as: UnsafeMutableRawPointer.self)).takeUnretainedValue()
    }

    static func parentClass(of instance: ElementInstance) -> UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(g_type_class_peek_parent(cgst_class_of(instance.element)))
    }
}

/// A Swift class for a GStreamer base class from which Swift classes can derive.
protocol ParentClass {
    /// The GType of the GStreamer base class.
    static var parentType: GType { get }
    /// Sets the functions in the class structure that call the Swift implementation's methods.
    static func installClassFunctions(_ klass: UnsafeMutableRawPointer)
}

extension ElementClass {
    /// Returns the Swift implementation of an element whose class this copy of the code registered. For the functions
    /// of a vtable, which are called only with elements of their own class.
    package static func implementation<E: ElementImplementation>(
        of element: UnsafeMutablePointer<GstElement>, as type: E.Type
    ) -> E {
        implementation(of: UnsafeMutableRawPointer(element)) as! E
    }
}

extension UnsafeMutablePointer<GstElement> {
    /// The element's class structure (`GST_ELEMENT_GET_CLASS`).
    var elementClass: UnsafeMutablePointer<GstElementClass> {
        UnsafeMutableRawPointer(pointee.object.object.g_type_instance.g_class!)
            .assumingMemoryBound(to: GstElementClass.self)
    }
}
