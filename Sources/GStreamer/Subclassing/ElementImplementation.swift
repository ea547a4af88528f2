import CGStreamer
import CGStreamerShims
import Synchronization

/// The GObject instance that a Swift implementation belongs to. It owns the implementation, so this is no reference.
public struct ElementInstance: Sendable {
    // A pointer to an object that outlives every holder of this value: the implementation is released in its finalize.
    package let address: UInt
    package var element: UnsafeMutablePointer<GstElement> { UnsafeMutablePointer(bitPattern: address)! }

    package init(_ raw: UnsafeMutableRawPointer) { address = UInt(bitPattern: raw) }
}

/// The Swift half of one element: made with its GObject, released with it.
///
/// Subclass `BinElement`, `InPlaceTransform`, `BufferTransform` or `PushSource`, override `declaration`, and register the class with
/// `ElementClass.register`. Class functions arrive as methods; `super` chains up to the parent class.
///
/// `@unchecked Sendable`: GStreamer calls the methods from any thread, as each says. A subclass keeps its settings in a
/// `SettingsStore` and its state behind a lock of its own; here is only the instance's address, which never changes.
open class ElementImplementation: @unchecked Sendable {
    public let instance: ElementInstance
    /// The last value of each property that refused it in NULL, in the order in which they were set.
    private let refusedValues = Mutex<[RefusedValue]>([])

    open class var declaration: ElementDeclaration {
        preconditionFailure("\(self) declares nothing")
    }

    /// On the thread that makes the element; it has no parent yet, and no pads but those of its parent class.
    public required init(instance: ElementInstance) {
        self.instance = instance
    }

    /// A strong reference on the element, for passing on. Not for storing here: it would keep the element for ever.
    public var element: Element { Element(retaining: UnsafeMutableRawPointer(instance.element)) }

    public var name: String {
        takeString(
            gst_object_get_name(UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstObject.self)))
            ?? ""
    }

    /// In NULL, and not on the way out of it.
    public var isInNull: Bool {
        max(instance.element.pointee.current_state.rawValue, instance.element.pointee.next_state.rawValue)
            <= GST_STATE_NULL.rawValue
    }

    /// The state now; locked properties are refused from PAUSED on.
    public var isRunning: Bool {
        max(instance.element.pointee.current_state.rawValue, instance.element.pointee.next_state.rawValue)
            >= GST_STATE_PAUSED.rawValue
    }

    /// Runs `body` between two changes of the state, or inside the one that this thread makes. `nil` while another thread
    /// changes it.
    public func whileStateStands<R>(_ body: () -> R) -> R? {
        // GStreamer holds this lock for as long as a change takes.
        guard g_rec_mutex_trylock(&instance.element.pointee.state_lock) != 0 else { return nil }
        defer { g_rec_mutex_unlock(&instance.element.pointee.state_lock) }
        return body()
    }

    /// Says that a property has changed by itself.
    public func notify(_ property: String) {
        g_object_notify(UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GObject.self), property)
    }

    /// Posts an element message on the bus. Any thread.
    public func post(_ structure: Structure) { element.post(structure) }

    /// Posts an error on the bus: the graph ends with it. Any thread. `details` are for programs.
    public func postError(
        _ problem: ElementProblem, _ text: String, debug: String = "", details: Structure? = nil,
        file: StaticString = #fileID, function: StaticString = #function, line: UInt = #line
    ) {
        element.postError(
            problem, text, debug: debug, details: details, file: file, function: function, line: line)
    }

    /// Posts a warning on the bus: the graph goes on. Any thread.
    public func postWarning(
        _ problem: ElementProblem, _ text: String, debug: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line
    ) {
        element.postWarning(problem, text, debug: debug, file: file, function: function, line: line)
    }

    // MARK: Refused values

    func remember(_ refused: RefusedValue) {
        refusedValues.withLock { values in
            values.removeAll { $0.property.name == refused.property.name }
            values.append(refused)
        }
    }

    func forgetRefusedValue(of property: PropertyDeclaration) {
        refusedValues.withLock { $0.removeAll { $0.property.name == property.name } }
    }

    /// Sets the refused values again, on the way out of NULL. Posts an error for each that is refused again. Returns false if
    /// there was one: the element must then stay in NULL.
    func setRefusedValues() -> Bool {
        var isAccepted = true
        for refused in refusedValues.withLock({ $0 }) {
            if let refusal = refused.retry(on: self) {
                postError(.settings, "\(name): \(refusal)")
                isAccepted = false
            } else {
                forgetRefusedValue(of: refused.property)
            }
        }
        return isAccepted
    }

    // MARK: Class functions that every element has

    /// A change of state (`GstElementClass.change_state`), on the thread that asked for it.
    open func changeState(_ change: StateChange) -> StateChangeResult {
        parentChangeState(change)
    }

    /// Somebody asks for a pad of a request template. `nil` refuses; say why with a warning.
    open func requestPad(_ template: String, name: String?) -> GhostPad? { nil }

    /// A requested pad is given back: remove it.
    open func releasePad(_ pad: GhostPad) {}

    package func parentChangeState(_ change: StateChange) -> StateChangeResult {
        let parent = ElementClass.parentClass(of: instance).assumingMemoryBound(to: GstElementClass.self)
        return StateChangeResult(parent.pointee.change_state(instance.element, change.raw))
    }
}

/// One step between two neighbouring states.
public enum StateChange: Sendable {
    case nullToReady, readyToPaused, pausedToPlaying, playingToPaused, pausedToReady, readyToNull
    /// From a state to itself: GStreamer asks for it to apply a setting anew.
    case none(State)

    package var raw: GstStateChange {
        switch self {
        case .nullToReady: GST_STATE_CHANGE_NULL_TO_READY
        case .readyToPaused: GST_STATE_CHANGE_READY_TO_PAUSED
        case .pausedToPlaying: GST_STATE_CHANGE_PAUSED_TO_PLAYING
        case .playingToPaused: GST_STATE_CHANGE_PLAYING_TO_PAUSED
        case .pausedToReady: GST_STATE_CHANGE_PAUSED_TO_READY
        case .readyToNull: GST_STATE_CHANGE_READY_TO_NULL
        case .none(let state): GstStateChange(rawValue: UInt32(state.rawValue << 3 | state.rawValue))
        }
    }

    package init(_ raw: GstStateChange) {
        switch raw {
        case GST_STATE_CHANGE_NULL_TO_READY: self = .nullToReady
        case GST_STATE_CHANGE_READY_TO_PAUSED: self = .readyToPaused
        case GST_STATE_CHANGE_PAUSED_TO_PLAYING: self = .pausedToPlaying
        case GST_STATE_CHANGE_PLAYING_TO_PAUSED: self = .playingToPaused
        case GST_STATE_CHANGE_PAUSED_TO_READY: self = .pausedToReady
        case GST_STATE_CHANGE_READY_TO_NULL: self = .readyToNull
        default: self = .none(State(rawValue: Int(raw.rawValue & 7)) ?? .null)
        }
    }
}
