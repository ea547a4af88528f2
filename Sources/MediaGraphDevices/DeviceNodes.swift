import GStreamer
import MediaGraphDescription
import MediaGraphElements

/// The nodes that this target registers.
package enum DeviceNodes {
    package static let all: [any NodeElement.Type] = [DeviceSourceElement.self]
}

package enum DeviceChecks {
    package static let all: [any DescriptionCheck] = [DisplayCheck()]
}

extension Element {
    /// Whether this `devicesource` gives sound.
    package var givesSound: Bool {
        ElementClass.implementation(of: element, as: DeviceSourceElement.self).mediaType == .audio
    }
}
