import CGStreamer
import CGStreamerShims
import Synchronization

/// An element's settings: what its properties read and write, apart from its state.
///
/// Properties may be set from any thread while data flows; one lock, held for a copy.
public final class SettingsStore<Settings: Sendable>: Sendable {
    private let settings: Mutex<Settings>

    public init(_ settings: Settings) {
        self.settings = Mutex(settings)
    }

    /// The settings as they are now.
    public var current: Settings { settings.withLock { $0 } }

    /// For an element whose settings depend on each other; `notify` tells of a property that changes with another.
    public func update<R>(_ body: (inout sending Settings) -> sending R) -> R { settings.withLock(body) }
}

/// An element whose properties are a `Settings` value.
public protocol ConfigurableElement: ElementImplementation {
    associatedtype Settings: Sendable
    static var defaultSettings: Settings { get }
    var settings: SettingsStore<Settings> { get }
    /// After a property has changed, on the thread that set it. May refuse by throwing: the property then keeps its value.
    func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused)
    func settingsDidChange(_ property: String)
}

extension ConfigurableElement {
    public func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused) {}
    public func settingsDidChange(_ property: String) {}
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
        /// Locked while the element is PAUSED or PLAYING.
        case untilReady
        /// At any time.
        case always
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
                let changes =
                    mutability == .always ? cgst_param_changes_while_playing : cgst_param_locked_when_running
                // `notify` tells of a change, not of every attempt at one: GObject would of a refused one too.
                let flags = GParamFlags(
                    rawValue: cgst_param_read_write.rawValue | changes.rawValue | G_PARAM_EXPLICIT_NOTIFY.rawValue)
                return V.specification(
                    name, blurb, default: E.defaultSettings[keyPath: field], range: range, flags: flags)
            },
            read: { element, value in (element as! E).settings.current[keyPath: field].store(in: &value) },
            write: { (element, value) throws(PropertyRefused) in
                let element = element as! E
                guard let new = V(value) else { throw PropertyRefused("it takes a \(V.self)") }
                if let range, !range.contains(new) {
                    throw PropertyRefused("\(new.text) is outside \(range.lowerBound.text)…\(range.upperBound.text)")
                }
                var proposed = element.settings.current
                proposed[keyPath: field] = new
                try element.validate(proposed, changing: name)
                let old = element.settings.update { settings in
                    defer { settings[keyPath: field] = new }
                    return settings[keyPath: field].text
                }
                // GObject holds it back until the value is set, and then gives one for any number of the same.
                if old != new.text { element.notify(name) }
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
}
