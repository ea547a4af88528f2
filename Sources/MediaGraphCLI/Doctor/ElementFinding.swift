import GStreamer
import MediaGraph

/// What an element of a description lacks: its plugin, or the device, the server or the permission that it needs to open.
enum ElementFinding {
    /// `nil` where nothing is wrong. What opens devices is opened for a moment; `properties` are the description's, and so is
    /// `filter`, the caps behind it.
    static func find(
        _ factory: String, _ properties: [(name: String, value: String)] = [], filter: String? = nil
    ) -> Finding? {
        switch ElementFactoryInfo.lookUp(factory) {
        case .found: break
        case .notLoadable:
            return Finding(
                problem: "the plugin of \(factory) can't be loaded",
                mend: "gst-inspect-1.0 \(factory) says what it lacks")
        case .unknown:
            let package = DebianPackages.shared.package(ofElement: factory)
            return Finding(
                problem: "there is no element \(factory)",
                mend: package.map { "sudo apt-get install \($0)" }
                    ?? NearestName.find(factory, among: ElementFactoryInfo.allNames).map { "did you mean \($0)?" }
                    ?? "no package known to apt provides it")
        }
        guard let family = DeviceFamily(factory) else { return nil }
        return family.finding(OpenedElement(factory: factory, properties: properties, filter: filter))
    }

    /// Where no device of a kind was found, for this reason.
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
            find("v4l2src") ?? Finding(problem: "there is no camera", mend: "plug one in, and see mediagraph devices")
        case .microphone: Finding(problem: "there is no microphone", mend: microphoneMend)
        case .screen:
            find("ximagesrc") ?? Finding(problem: "there is no screen", mend: "see mediagraph devices")
        }
    }

    static let endless = Finding(
        problem: "a server or a driver hangs: it doesn't answer within a minute",
        mend: "mediagraph doctor with a description of one device says which")

    private static var microphoneMend: String {
        guard let monitor = MediaDevices.listNow(.microphone).devices.first else {
            return DeviceFamily.alsaMend
        }
        return "plug one in; what a speaker plays is devicesource source=\(DescriptionText.quoted(monitor.text))"
    }
}
