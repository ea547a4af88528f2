import GStreamer
import MediaGraph

/// Finds what an element of a description lacks: its plugin, or the device, server or permission that it needs.
enum ElementFinding {
    /// Returns what an element lacks; `nil` if nothing. An element that uses a device is opened for a moment.
    ///
    /// - Parameters:
    ///   - factory: The element's factory.
    ///   - properties: The properties that the description sets.
    ///   - filter: The caps that the description links the element with.
    static func find(
        _ factory: String, _ properties: [(name: String, value: String)] = [], filter: String? = nil
    ) -> Finding? {
        switch ElementFactoryInfo.lookUp(factory) {
        case .found: break
        case .notLoadable:
            return Finding(
                problem: "the plugin of \(factory) can't be loaded",
                mend: "run gst-inspect-1.0 \(factory) to see why")
        case .unknown:
            let package = DebianPackages.shared.package(ofElement: factory)
            return Finding(
                problem: "there is no element \(factory)",
                mend: package.map { "sudo apt install \($0)" }
                    ?? NearestName.find(factory, among: ElementFactoryInfo.allNames).map { "did you mean \($0)?" }
                    ?? "no package known to apt provides it")
        }
        guard let family = DeviceFamily(factory) else { return nil }
        return family.finding(OpenedElement(factory: factory, properties: properties, filter: filter))
    }

    /// Returns the finding for a missing default device of a kind. `reason` is the error of the search.
    static func none(of kind: DeviceKind, _ reason: MediaGraphError) -> Finding {
        guard case .noDevice = reason else {
            let family: DeviceFamily =
                switch kind {
                case .screen: .x
                case .microphone: .anySound
                case .camera: reason.detail.subject.hasPrefix("PipeWire") ? .pipewire : .camera
                }
            return Finding(problem: "\(reason)", mend: family.hang.mend)
        }
        return switch kind {
        case .camera:
            find("v4l2src") ?? Finding(problem: "there is no camera", mend: "plug one in, and run mediagraph devices")
        case .microphone: Finding(problem: "there is no microphone", mend: microphoneMend)
        case .screen:
            find("ximagesrc")
                ?? Finding(problem: "there is no screen", mend: "run mediagraph devices to list the screens")
        }
    }

    /// The finding for an area whose checks don't return.
    static let endless = Finding(
        problem: "a server or a driver hangs: it doesn't answer within a minute",
        mend: "run mediagraph doctor with a description of one device at a time to find it")

    private static var microphoneMend: String {
        guard let monitor = MediaDevices.listNow(.microphone).devices.first else {
            return DeviceFamily.alsaMend
        }
        return "plug one in; to record what a speaker plays, use devicesource "
            + "source=\(DescriptionText.quoted(monitor.text))"
    }
}
