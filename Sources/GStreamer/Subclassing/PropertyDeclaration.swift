import CGStreamer
import CGStreamerShims
import Synchronization

/// An element's settings: what its properties read and write, apart from its state.
///
/// Properties may be set from any thread while data flows; one lock, held for a copy.
public final class SettingsStore<Settings: Sendable>: Sendable {
    private struct State: Sendable {
        var settings: Settings
        /// Counts changes.
        var version = 0
    }

    private let state: Mutex<State>

    public init(_ settings: Settings) {
        state = Mutex(State(settings: settings))
    }

    /// The settings as they are now.
    public var current: Settings { state.withLock { $0.settings } }

    /// For an element whose settings depend on each other; `notify` tells of a property that changes with another.
    public func update<R: Sendable>(_ body: (inout Settings) -> R) -> R {
        state.withLock { state in
            state.version += 1
            return body(&state.settings)
        }
    }

    fileprivate var versioned: (settings: Settings, version: Int) {
        state.withLock { ($0.settings, $0.version) }
    }

    /// False when they are another version by now: then nothing is done.
    fileprivate func replace(_ version: Int, with settings: Settings, _ also: () -> Void) -> Bool {
        state.withLock { state in
            guard state.version == version else { return false }
            state = State(settings: settings, version: version + 1)
            also()
            return true
        }
    }
}

/// What changes together with a property.
public struct CoupledChange {
    /// Runs under the settings' lock, so it calls nothing that may set a property. What it returns is let go outside.
    let commit: () -> (any Sendable)?
    /// Runs behind it, outside the lock.
    let finish: () -> Void

    public init(commit: @escaping () -> (any Sendable)?, finish: @escaping () -> Void = {}) {
        self.commit = commit
        self.finish = finish
    }
}

/// An element whose properties are a `Settings` value.
public protocol ConfigurableElement: ElementImplementation {
    associatedtype Settings: Sendable
    static var defaultSettings: Settings { get }
    var settings: SettingsStore<Settings> { get }
    /// Called before a property changes, on the thread that sets it. Throw to refuse the change.
    func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused)
    /// Like `validate`, for an element that must change other state or settings with the property. Called again, with the
    /// earlier result discarded, if another thread changes a property meanwhile.
    func couple(_ proposed: inout Settings, changing property: String) throws(PropertyRefused) -> CoupledChange?
    /// After a property has changed, on the thread that set it.
    func settingsDidChange(_ property: String)
}

extension ConfigurableElement {
    public func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused) {}
    public func couple(_ proposed: inout Settings, changing property: String) throws(PropertyRefused) -> CoupledChange?
    {
        try validate(proposed, changing: property)
        return nil
    }
    public func settingsDidChange(_ property: String) {}

    /// Returns the settings as they were. Whatever other threads set, each change was made of what was there before it.
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
    public let reason: String
    public init(_ reason: String) { self.reason = reason }
}

/// One GObject property of an element.
public struct PropertyDeclaration: Sendable {
    /// When a property may be set.
    public enum Mutability: Sendable {
        /// In NULL: it is read on the way out of it.
        case untilInitialized
        /// Locked while the element is PAUSED or PLAYING.
        case untilReady
        /// At any time.
        case always

        /// GStreamer has a flag for each state but NULL.
        fileprivate var flags: GParamFlags.RawValue {
            switch self {
            case .untilInitialized: 0
            case .untilReady: cgst_param_locked_when_running.rawValue
            case .always: cgst_param_changes_while_playing.rawValue
            }
        }

        fileprivate var remark: String { self == .untilInitialized ? " (changeable only in NULL state)" : "" }
    }

    public let name: String
    let specification: @Sendable () -> UnsafeMutablePointer<GParamSpec>
    let read: @Sendable (ElementImplementation, inout Value) -> Void
    let write: (@Sendable (ElementImplementation, borrowing Value) throws(PropertyRefused) -> Void)?
    let mutability: Mutability

    /// A property that is one field of the element's settings; its default is the field's in `defaultSettings`.
    public static func setting<E: ConfigurableElement, V: PropertyValue>(
        _ name: String, of type: E.Type, _ field: WritableKeyPath<E.Settings, V> & Sendable,
        range: PropertyRange<V>? = nil, changes mutability: Mutability = .untilReady, _ blurb: String
    ) -> PropertyDeclaration {
        PropertyDeclaration(
            name: name,
            specification: {
                // `notify` tells of a change, not of every attempt at one: GObject would of a refused one too.
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
                // GObject holds it back until the value is set, and then gives one for any number of the same.
                if before[keyPath: field].text != new.text { element.notify(name) }
                element.settingsDidChange(name)
            },
            mutability: mutability)
    }

    /// A property that only reads, such as a counter.
    public static func readOnly<E: ElementImplementation, V: PropertyValue>(
        _ name: String, of type: E.Type, default initial: V, _ blurb: String, _ get: @escaping @Sendable (E) -> V
    ) -> PropertyDeclaration {
        PropertyDeclaration(
            name: name,
            specification: { V.specification(name, blurb, default: initial, range: nil, flags: cgst_param_read_only) },
            read: { element, value in get(element as! E).store(in: &value) },
            write: nil, mutability: .always)
    }

    /// A bin's property that is a child's: read from there, and set there, where the child may refuse it.
    public static func child<E: BinElement, V: PropertyValue>(
        _ name: String, of type: E.Type, default initial: V, changes mutability: Mutability = .untilReady,
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
