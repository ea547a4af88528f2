import CGStreamer
import CGStreamerShims
import Synchronization

/// The settings of an element: the values that its properties read and write, separate from its state.
///
/// Properties may be set on any thread while data flows. A lock protects the settings, and is held only while they are
/// copied or replaced.
public final class SettingsStore<Settings: Sendable>: Sendable {
    private struct State: Sendable {
        var settings: Settings
        /// The number of changes.
        var version = 0
    }

    private let state: Mutex<State>

    /// Creates a store with initial settings.
    public init(_ settings: Settings) {
        state = Mutex(State(settings: settings))
    }

    /// A copy of the current settings.
    public var current: Settings { state.withLock { $0.settings } }

    /// Changes the settings directly, without `validate` and `couple`, and returns the result of `body`. For elements
    /// that change their own settings; they call `notify` for each property that changed. `body` runs under the
    /// settings' lock.
    public func update<R: Sendable>(_ body: (inout Settings) -> R) -> R {
        state.withLock { state in
            state.version += 1
            return body(&state.settings)
        }
    }

    fileprivate var versioned: (settings: Settings, version: Int) {
        state.withLock { ($0.settings, $0.version) }
    }

    /// Replaces the settings and calls `also` under the lock. If the settings have another version by now, does nothing
    /// and returns false.
    fileprivate func replace(_ version: Int, with settings: Settings, _ also: () -> Void) -> Bool {
        state.withLock { state in
            guard state.version == version else { return false }
            state = State(settings: settings, version: version + 1)
            also()
            return true
        }
    }
}

/// Changes of other state that belong to a property's change. See `ConfigurableElement.couple`.
public struct CoupledChange {
    let commit: () -> (any Sendable)?
    let finish: () -> Void

    /// Creates a coupled change.
    ///
    /// - Parameters:
    ///   - commit: Called under the settings' lock, together with the change of the settings. It must not call code
    ///     that may set a property. Its result, such as a replaced object, is released outside the lock.
    ///   - finish: Called after `commit`, outside the lock.
    public init(commit: @escaping () -> (any Sendable)?, finish: @escaping () -> Void = {}) {
        self.commit = commit
        self.finish = finish
    }
}

/// An element whose properties are the fields of a `Settings` value.
public protocol ConfigurableElement: ElementImplementation {
    /// The type of the element's settings.
    associatedtype Settings: Sendable
    /// The settings of a new element, which are also the properties' documented defaults.
    static var defaultSettings: Settings { get }
    /// The element's settings.
    var settings: SettingsStore<Settings> { get }
    /// Called before a property changes, on the thread that sets it. Throw to refuse the change.
    func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused)
    /// Like `validate`, for an element that must change other state or settings with the property. Called again, with
    /// the earlier result discarded, if another thread changes a property meanwhile.
    func couple(_ proposed: inout Settings, changing property: String) throws(PropertyRefused) -> CoupledChange?
    /// Called after a property has changed, on the thread that set it.
    func settingsDidChange(_ property: String)
}

extension ConfigurableElement {
    /// Accepts all changes.
    public func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused) {}
    /// Calls `validate`, and changes nothing else.
    public func couple(_ proposed: inout Settings, changing property: String) throws(PropertyRefused) -> CoupledChange?
    {
        try validate(proposed, changing: property)
        return nil
    }
    /// Does nothing.
    public func settingsDidChange(_ property: String) {}

    /// Changes one property, and returns the settings before the change. Retries if another thread changes the settings
    /// meanwhile, so that no change is lost.
    fileprivate func change(
        _ property: String, _ body: (inout Settings) -> Void
    ) throws(PropertyRefused) -> Settings {
        while true {
            let (before, version) = settings.versioned
            var proposed = before
            body(&proposed)
            let coupled = try couple(&proposed, changing: property)
            var replaced: (any Sendable)?
            guard settings.replace(version, with: proposed, { replaced = coupled?.commit() }) else { continue }
            withExtendedLifetime(replaced) {}
            replaced = nil
            coupled?.finish()
            return before
        }
    }
}

/// Thrown by an element that refuses a property's new value.
public struct PropertyRefused: Error, Sendable {
    /// The reason, for users.
    public let reason: String
    /// The reason, for programs; see ``Element/takeRefusalDetails()``.
    package let details: Structure?
    /// Creates an error with the reason.
    public init(_ reason: String) { self.init(reason, details: nil) }
    /// Creates an error with the reason for users and for programs.
    package init(_ reason: String, details: Structure?) {
        self.reason = reason
        self.details = details
    }
}

/// A GObject property of an element.
public struct PropertyDeclaration: Sendable {
    /// When a property may be set.
    public enum Mutability: Sendable {
        /// In NULL. The element reads the property in the change to READY.
        case untilInitialized
        /// In NULL and READY.
        case untilPaused
        /// In all states.
        case always

        /// The flags for `gst-inspect-1.0`. GStreamer has one for each state except NULL.
        fileprivate var flags: GParamFlags.RawValue {
            switch self {
            case .untilInitialized: 0
            case .untilPaused: cgst_param_locked_when_running.rawValue
            case .always: cgst_param_changes_while_playing.rawValue
            }
        }

        fileprivate var remark: String { self == .untilInitialized ? " (changeable only in NULL state)" : "" }
    }

    /// The property's name, such as "max-frames".
    public let name: String
    let specification: @Sendable () -> UnsafeMutablePointer<GParamSpec>
    let read: @Sendable (ElementImplementation, inout Value) -> Void
    let write: (@Sendable (ElementImplementation, borrowing Value) throws(PropertyRefused) -> Void)?
    let mutability: Mutability

    /// Declares a property that reads and writes a field of the element's settings.
    ///
    /// The property's default is the field's value in `defaultSettings`. Values outside `range` are refused. `blurb` is
    /// the text that `gst-inspect-1.0` prints.
    public static func setting<E: ConfigurableElement, V: PropertyValue>(
        _ name: String, of type: E.Type, _ field: WritableKeyPath<E.Settings, V> & Sendable,
        range: PropertyRange<V>? = nil, changes mutability: Mutability = .untilPaused, _ blurb: String
    ) -> PropertyDeclaration {
        PropertyDeclaration(
            name: name,
            specification: {
                // Without this flag, GObject would emit `notify` for refused values too.
                let flags = GParamFlags(
                    rawValue: cgst_param_read_write.rawValue | mutability.flags | G_PARAM_EXPLICIT_NOTIFY.rawValue)
                return V.specification(
                    name, blurb + mutability.remark, default: E.defaultSettings[keyPath: field], range: range,
                    flags: flags)
            },
            read: { element, value in (element as! E).settings.current[keyPath: field].store(in: &value) },
            write: { (element, value) throws(PropertyRefused) in
                let element = element as! E
                guard let new = V(value) else { throw PropertyRefused(V.conversionFailure) }
                if let range, !range.contains(new) {
                    throw PropertyRefused("\(new.text) is outside \(range.lowerBound.text)…\(range.upperBound.text)")
                }
                let before = try element.change(name) { $0[keyPath: field] = new }
                // GObject delays the signal until the value is set, and merges several signals for the same property.
                if before[keyPath: field].text != new.text { element.notify(name) }
                element.settingsDidChange(name)
            },
            mutability: mutability)
    }

    /// Declares a read-only property, such as a counter. `get` is called on the thread that reads the property.
    public static func readOnly<E: ElementImplementation, V: PropertyValue>(
        _ name: String, of type: E.Type, default initial: V, _ blurb: String, _ get: @escaping @Sendable (E) -> V
    ) -> PropertyDeclaration {
        PropertyDeclaration(
            name: name,
            specification: { V.specification(name, blurb, default: initial, range: nil, flags: cgst_param_read_only) },
            read: { element, value in get(element as! E).store(in: &value) },
            write: nil, mutability: .always)
    }

    /// Declares a property of a bin that reads and writes a property of a child, which may refuse a value. If the
    /// child's property can't be read, the bin's property reads as `initial`.
    public static func child<E: BinElement, V: PropertyValue>(
        _ name: String, of type: E.Type, default initial: V, changes mutability: Mutability = .untilPaused,
        _ blurb: String, _ child: @escaping @Sendable (E) -> (element: Element, property: String)
    ) -> PropertyDeclaration {
        PropertyDeclaration(
            name: name,
            specification: {
                V.specification(
                    name, blurb + mutability.remark, default: initial, range: nil,
                    flags: GParamFlags(rawValue: cgst_param_read_write.rawValue | mutability.flags))
            },
            read: { bin, value in
                let (element, property) = child(bin as! E)
                ((try? element.property(property, as: V.self)) ?? initial).store(in: &value)
            },
            write: { (bin, value) throws(PropertyRefused) in
                guard let new = V(value) else { throw PropertyRefused(V.conversionFailure) }
                let (element, property) = child(bin as! E)
                do throws(PropertyError) {
                    try PropertyRefusal.quietly(element) { () throws(PropertyError) in
                        try element.setProperty(property, to: new)
                    }
                } catch {
                    guard case .refused(_, _, let reason) = error else { throw PropertyRefused("\(error)") }
                    throw PropertyRefused(reason)
                }
            },
            mutability: mutability)
    }
}
