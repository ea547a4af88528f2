import GStreamer
import MediaGraphCore
import MediaGraphElements

/// The nodes that this target registers.
package enum DeviceNodes {
    package static let all: [any NodeElement.Type] = [DeviceSourceElement.self]
}

extension Element {
    /// Makes the time limits and pauses of this `devicesource` follow a clock that a test advances. Call it in NULL.
    package func useTimerClock(_ clock: TimerClock) {
        ElementClass.implementation(of: element, as: DeviceSourceElement.self).timerClock = clock
    }

    /// Whether this is a `devicesource` that produces sound.
    package var isSoundSource: Bool {
        factoryName == NodeName.deviceSource
            && ElementClass.implementation(of: element, as: DeviceSourceElement.self).mediaType == .audio
    }
}
