import CGStreamer
import CGStreamerShims
import Synchronization

/// Thrown when an element can't be registered.
public enum RegistrationError: Error, Sendable, CustomStringConvertible {
    /// Another copy of the code has registered this class with another ABI.
    case abiMismatch(typeName: String, ours: Int, theirs: Int)
    case refused(factoryName: String)

    public var description: String {
        switch self {
        case .abiMismatch(let typeName, let ours, let theirs):
            "\(typeName) is already in this process with ABI \(theirs); this copy has ABI \(ours). Load one version only."
        case .refused(let factoryName): "GStreamer refused to register \(factoryName)"
        }
    }
}

/// Registers Swift classes as GStreamer element classes.
///
/// The instance that GObject allocates is the parent's structure with one pointer behind it: the Swift implementation,
/// retained from `instance_init` to `finalize`.
public enum ElementClass {
    private static let descriptionQuark = g_quark_from_string("mediagraph-element-class")
    private static let abiQuark = g_quark_from_string("mediagraph-abi")

    /// What a GType's class functions need to find the Swift side: kept for the life of the process, as GTypes are.
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

    /// Makes the class known under its factory name: to this process, or as a feature of `plugin`.
    ///
    /// A class that another copy of this code has registered already is used as it is, when its ABI is ours.
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

    /// An element that is known under no factory name: one of a class that isn't registered, or a part of another element.
    /// Without a name it gets one that no other element has.
    public static func make(
        _ implementation: ElementImplementation.Type, name: String? = nil
    ) throws(RegistrationError) -> Element {
        GStreamerRuntime.initialize()
        let object = g_object_new_with_properties(try type(for: implementation), 0, nil, nil)
        let element = Element(taking: UnsafeMutableRawPointer(object!))
        if let name { gst_object_set_name(element.object, name) }
        return element
    }

    /// Two threads may ask for a class at once that neither has seen yet.
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

        let element = klass.assumingMemoryBound(to: GstElementClass.self)
        gst_element_class_set_metadata(
            element, declaration.longName, declaration.classification, declaration.summary, declaration.author)
        for message in declaration.messages {
            // The key must be a structure's field name, or the registry refuses the whole plugin.
            gst_element_class_add_metadata(element, "message-\(message.name)", message.documentation)
        }
        for template in declaration.padTemplates { gst_element_class_add_pad_template(element, template.make()) }
        element.pointee.change_state = { element, change in
            let implementation = ElementClass.implementation(of: element!)
            if change == GST_STATE_CHANGE_NULL_TO_READY, !implementation.setRefusedValues() {
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
                throw PropertyRefused("it is locked from READY on, since it is read on the way there; set it in NULL")
            case .untilReady where implementation.isRunning:
                throw PropertyRefused("it is locked while the element is running; set it in NULL or READY")
            case .untilInitialized, .untilReady, .always: break
            }
            try property.write?(implementation, Value(copying: value))
            implementation.forgetRefusedValue(of: property)
        } catch {
            if implementation.isInNull, !PropertyRefusal.isAwaited(object) {
                implementation.remember(RefusedValue(Value(copying: value), of: property))
            }
            // In this order: whoever hears the warning may set other properties from there.
            if !PropertyRefusal.isQuiet(object) {
                implementation.postWarning(.settings, "\(property.name) keeps its value: \(error.reason)")
            }
            PropertyRefusal.leave(error.reason, on: object)
        }
    }

    // MARK: From an instance to its Swift half

    private static func description(of klass: UnsafeMutableRawPointer) -> Description {
        let type = klass.assumingMemoryBound(to: GTypeClass.self).pointee.g_type
        return Unmanaged<Description>.fromOpaque(g_type_get_qdata(type, descriptionQuark)).takeUnretainedValue()
    }

    static func implementation(of instance: UnsafeMutableRawPointer) -> ElementImplementation {
        let offset = description(of: cgst_class_of(instance)).instanceOffset
        return implementation(of: instance, offset: offset)
    }

    /// The same for class functions that may run before the Swift half is made.
    static func madeImplementation(of instance: UnsafeMutableRawPointer) -> ElementImplementation? {
        let offset = description(of: cgst_class_of(instance)).instanceOffset
        return instance.load(fromByteOffset: offset, as: UnsafeMutableRawPointer?.self).map {
            Unmanaged<ElementImplementation>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// For class functions that run for each buffer, where the parent's size is a constant.
    @inline(__always)
    static func implementation(of instance: UnsafeMutableRawPointer, offset: Int) -> ElementImplementation {
        Unmanaged<ElementImplementation>
            .fromOpaque(instance.load(fromByteOffset: offset, as: UnsafeMutableRawPointer.self)).takeUnretainedValue()
    }

    static func parentClass(of instance: ElementInstance) -> UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(g_type_class_peek_parent(cgst_class_of(instance.element)))
    }
}

/// A GStreamer base class that Swift classes can derive from.
protocol ParentClass {
    static var parentType: GType { get }
    static func installClassFunctions(_ klass: UnsafeMutableRawPointer)
}

extension ElementClass {
    /// The Swift half of an element that this copy of the code registered; for the functions of a door, which are only
    /// ever called with elements of their own class.
    package static func implementation<E: ElementImplementation>(
        of element: UnsafeMutablePointer<GstElement>, as type: E.Type
    ) -> E {
        implementation(of: UnsafeMutableRawPointer(element)) as! E
    }
}

extension UnsafeMutablePointer<GstElement> {
    /// `GST_ELEMENT_GET_CLASS`.
    var elementClass: UnsafeMutablePointer<GstElementClass> {
        UnsafeMutableRawPointer(pointee.object.object.g_type_instance.g_class!)
            .assumingMemoryBound(to: GstElementClass.self)
    }
}
