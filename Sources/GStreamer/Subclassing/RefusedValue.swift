/// A value that a property of an element in NULL refused.
///
/// GObject's functions report no refusal to their caller, and the element may have no bus for a warning yet, as under
/// `gst-launch-1.0`. So the element tries the value again before it starts: by then another property may permit it. If the
/// value is refused again, the element fails to start.
///
/// `@unchecked Sendable`: the value is a copy that nobody else has, and is only read.
final class RefusedValue: @unchecked Sendable {
    let property: PropertyDeclaration
    let value: Value

    init(_ value: consuming Value, of property: PropertyDeclaration) {
        self.property = property
        self.value = value
    }

    /// Sets the property again. Returns the error's text if it refuses again.
    func retry(on implementation: ElementImplementation) -> String? {
        do throws(PropertyRefused) {
            try property.write?(implementation, value)
            return nil
        } catch {
            return "\(property.name)=\(text) was refused: \(error.reason)"
        }
    }

    private var text: String { String(value) ?? value.serialized ?? "" }
}
