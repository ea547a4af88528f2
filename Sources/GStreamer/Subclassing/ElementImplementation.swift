import CGStreamer
import CGStreamerShims
import Synchronization

/// The GObject instance of a Swift implementation. Unowned, because the instance owns the implementation.
public struct ElementInstance: Sendable {
    // The address outlives the implementation: the instance's finalize function releases the implementation.
    package let address: UInt
    package var element: UnsafeMutablePointer<GstElement> { UnsafeMutablePointer(bitPattern: address)! }

    package init(_ raw: UnsafeMutableRawPointer) { address = UInt(bitPattern: raw) }
}

/// The Swift implementation of an element. Created and released with the element's GObject.
///
/// Subclass `BinElement`, `InPlaceTransform`, `BufferTransform` or `PushSource`, override `declaration`, and register
/// the class with `ElementClass.register`. GStreamer's class functions call the methods; `super` calls the parent
/// class's function.
///
/// `@unchecked Sendable`: GStreamer calls the methods on several threads, which each method documents. A subclass keeps
/// its settings in a `SettingsStore` and protects its state with a lock. The state of this class is constant or behind
/// a lock.
open class ElementImplementation: @unchecked Sendable {
    /// The element's GObject instance.
    public let instance: ElementInstance
    /// For each property that refused a value in NULL, the last such value, in the order in which they were set.
    private let refusedValues = Mutex<[RefusedValue]>([])

    /// The declaration of the element class. Subclasses must override it.
    open class var declaration: ElementDeclaration {
        preconditionFailure("\(self) must override `declaration`")
    }

    /// Creates the implementation of a new instance. Called on the thread that creates the element, which has no parent
    /// yet, and only its parent class's pads.
    public required init(instance: ElementInstance) {
        self.instance = instance
    }

    /// A strong reference to the element. Don't store it in the implementation: the element would never be released.
    public var element: Element { Element(retaining: UnsafeMutableRawPointer(instance.element)) }

    /// The element's name, which is unique in its parent.
    public var name: String {
        takeString(
            gst_object_get_name(UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstObject.self)))
            ?? ""
    }

    /// Whether the element is in NULL, and not changing to READY.
    public var isInNull: Bool {
        max(instance.element.pointee.current_state.rawValue, instance.element.pointee.next_state.rawValue)
            <= GST_STATE_NULL.rawValue
    }

    /// Whether the element is in PAUSED or PLAYING, or changing to them. Properties with `Mutability.untilPaused` are
    /// then locked.
    public var isRunning: Bool {
        max(instance.element.pointee.current_state.rawValue, instance.element.pointee.next_state.rawValue)
            >= GST_STATE_PAUSED.rawValue
    }

    /// Calls `body` while no other thread can change the element's state. Returns `nil`, without calling `body`, if
    /// another thread is changing the state. The calling thread itself may be inside a state change.
    public func withStateLock<R>(_ body: () -> R) -> R? {
        // GStreamer holds this recursive lock during a state change.
        guard g_rec_mutex_trylock(&instance.element.pointee.state_lock) != 0 else { return nil }
        defer { g_rec_mutex_unlock(&instance.element.pointee.state_lock) }
        return body()
    }

    /// Emits GObject's signal `notify` for a property that the element has changed itself.
    public func notify(_ property: String) {
        g_object_notify(UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GObject.self), property)
    }

    /// Posts an element message on the bus. May be called from any thread.
    public func post(_ structure: Structure) { element.post(structure) }

    /// Posts an error on the bus, which ends the graph. May be called from any thread. `details` are fields that
    /// programs can read.
    public func postError(
        _ problem: ElementProblem, _ text: String, debug: String = "", details: Structure? = nil,
        file: StaticString = #fileID, function: StaticString = #function, line: UInt = #line
    ) {
        element.postError(
            problem, text, debug: debug, details: details, file: file, function: function, line: line)
    }

    /// Posts a warning on the bus; the graph continues. May be called from any thread.
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

    func removeRefusedValue(of property: PropertyDeclaration) {
        refusedValues.withLock { $0.removeAll { $0.property.name == property.name } }
    }

    /// Sets the refused values again, before the element leaves NULL. Posts an error for each value that is refused
    /// again. Returns false if a value was refused; the element must then stay in NULL.
    func retryRefusedValues() -> Bool {
        var isAccepted = true
        for refused in refusedValues.withLock({ $0 }) {
            if let refusal = refused.retry(on: self) {
                postError(.settings, "\(name): \(refusal)")
                isAccepted = false
            } else {
                removeRefusedValue(of: refused.property)
            }
        }
        return isAccepted
    }

    // MARK: Class functions of all elements

    /// Changes the element's state (`GstElementClass.change_state`). Called on the thread that changes the state, under
    /// the element's state lock. Returns the result of the change.
    ///
    /// The default calls the parent class's function. Overrides must call `super`: usually after their own work in a
    /// change upward, and before it in a change downward.
    open func changeState(_ change: StateChange) -> StateChangeResult {
        parentChangeState(change)
    }

    /// Creates and adds a pad for a request template. Called on the thread that requests the pad; `name` is the
    /// requested name, if any. Returns the pad, or `nil` to refuse the request; post a warning with the reason first.
    /// The default refuses all requests.
    open func requestPad(_ template: String, name: String?) -> GhostPad? { nil }

    /// Removes a requested pad that is released. Called on the thread that releases the pad. Does nothing by default.
    open func releasePad(_ pad: GhostPad) {}

    /// Calls the parent class's `change_state` function.
    package func parentChangeState(_ change: StateChange) -> StateChangeResult {
        let parent = ElementClass.parentClass(of: instance).assumingMemoryBound(to: GstElementClass.self)
        return StateChangeResult(parent.pointee.change_state(instance.element, change.raw))
    }
}

/// A change between two adjacent states (`GstStateChange`).
public enum StateChange: Sendable {
    /// From NULL to READY: the element allocates its resources, such as a device.
    case nullToReady
    /// From READY to PAUSED: the element starts its data flow.
    case readyToPaused
    /// From PAUSED to PLAYING: the clock runs.
    case pausedToPlaying
    /// From PLAYING to PAUSED: the clock stops.
    case playingToPaused
    /// From PAUSED to READY: the element stops its data flow.
    case pausedToReady
    /// From READY to NULL: the element releases its resources.
    case readyToNull
    /// From a state to itself, which makes the element apply its settings again.
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
