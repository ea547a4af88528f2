import Foundation
import GStreamer
import MediaGraph
import Synchronization

/// What an element of a description lacks: its plugin, or the device, the server or the permission that it needs to open.
enum ElementFinding {
    /// `nil` where nothing is wrong. What opens devices is opened for a moment; `properties` are the description's.
    static func find(_ factory: String, _ properties: [(name: String, value: String)] = []) -> Finding? {
        switch ElementFactoryInfo.lookUp(factory) {
        case .found: break
        case .notLoadable:
            return Finding(
                problem: "the plugin of \(factory) can't be loaded",
                mend: "gst-inspect-1.0 \(factory) says what it lacks")
        case .unknown:
            let package = DebianPackages.shared.package(ofElement: factory) ?? packages[factory]
            return Finding(
                problem: "there is no element \(factory)",
                mend: package.map { "sudo apt-get install \($0)" }
                    ?? "mediagraph check says what may have been meant, or which package has it")
        }
        guard let family = Family(factory) else { return nil }
        return family.finding(factory, properties)
    }

    /// Where apt has no lists to look into.
    private static let packages = [
        "v4l2src": "gstreamer1.0-plugins-good", "v4l2sink": "gstreamer1.0-plugins-good",
        "ximagesrc": "gstreamer1.0-plugins-good", "pulsesrc": "gstreamer1.0-pulseaudio",
        "pulsesink": "gstreamer1.0-pulseaudio", "alsasrc": "gstreamer1.0-alsa", "alsasink": "gstreamer1.0-alsa",
        "ximagesink": "gstreamer1.0-x", "xvimagesink": "gstreamer1.0-x", "pipewiresrc": "gstreamer1.0-pipewire",
        "x264enc": "gstreamer1.0-plugins-ugly", "vp8enc": "gstreamer1.0-plugins-good",
    ]
}

/// Elements that open something of the machine's.
private enum Family {
    case camera, pulse, pipewire, alsa, x

    init?(_ factory: String) {
        switch factory {
        case "v4l2src", "v4l2sink": self = .camera
        case "pulsesrc", "pulsesink": self = .pulse
        case "pipewiresrc", "pipewiresink": self = .pipewire
        case "alsasrc", "alsasink": self = .alsa
        case "ximagesrc", "ximagesink", "xvimagesink": self = .x
        default: return nil
        }
    }

    func finding(_ factory: String, _ properties: [(name: String, value: String)]) -> Finding? {
        let device = properties.last { $0.name == "device" }?.value
        switch self {
        case .camera:
            return camera(device ?? "/dev/video0")
                ?? refusal(factory, properties, "another program may use it: mediagraph devices")
        case .pulse:
            return refusal(
                factory, properties,
                "start the sound server: pulseaudio --start, or systemctl --user start pipewire-pulse; mediagraph devices lists what it has"
            )
        case .pipewire:
            let node = properties.last { $0.name == "target-object" }?.value
            return node.flatMap(pipeWireNode)
                ?? refusal(factory, properties, "systemctl --user start pipewire wireplumber")
        case .alsa: return refusal(factory, properties, alsaMend)
        case .x: return screen(properties.last { $0.name.hasPrefix("display") }?.value)
        }
    }

    private func camera(_ path: String) -> Finding? {
        guard FileManager.default.fileExists(atPath: path) else {
            return Finding(
                problem: "there is no camera \(path)",
                mend:
                    "plug one in, and see mediagraph devices; a virtual one: sudo modprobe v4l2loopback (v4l2loopback-dkms)"
            )
        }
        return access(path, R_OK | W_OK) == 0
            ? nil
            : Finding(
                problem: "\(path) may not be opened", mend: "sudo usermod -aG video \"$USER\", and log in again")
    }

    private func pipeWireNode(_ name: String) -> Finding? {
        guard Int(name) == nil, case .missing = PipeWireProvider.node(name) else { return nil }
        return Finding(
            problem: "PipeWire has nothing called \(name)",
            mend: "mediagraph devices lists what it has; a virtual camera: see Pipelines/virtual-camera.pipeline")
    }

    private var alsaMend: String {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/snd")) ?? []
        if files.isEmpty { return "there is no sound card; a virtual one: sudo modprobe snd-aloop" }
        let isForbidden = files.contains { $0.hasPrefix("pcm") && access("/dev/snd/\($0)", R_OK | W_OK) != 0 }
        return isForbidden
            ? "sudo usermod -aG audio \"$USER\", and log in again" : "see mediagraph devices, aplay -L and arecord -L"
    }

    private func screen(_ given: String?) -> Finding? {
        let mend = "export DISPLAY=:0 in a session of yours; without a screen: xvfb-run -a mediagraph run …"
        guard let name = given ?? ProcessInfo.processInfo.environment["DISPLAY"], !name.isEmpty else {
            return Finding(problem: "DISPLAY isn't set: there is no screen", mend: mend)
        }
        // Without it nothing can be told.
        guard ElementFactoryInfo.find("ximagesrc") != nil else { return nil }
        return DeviceProbe.formats(ofScreen: name) != nil
            ? nil : Finding(problem: "the screen \(name) can't be opened", mend: mend)
    }

    /// What the element says when it is to open.
    private func refusal(
        _ factory: String, _ properties: [(name: String, value: String)], _ mend: String
    ) -> Finding? {
        guard let element = Element(factory: factory) else { return nil }
        for property in properties { try? element.setProperty(property.name, parsing: property.value) }
        let pipeline = Pipeline()
        let said = Mutex<String?>(nil)
        pipeline.onMessage { message in
            guard case .error(let report) = message.kind else { return }
            said.withLock { $0 = $0 ?? report.error.message }
        }
        pipeline.add(element)
        let result = pipeline.setState(.ready)
        pipeline.setState(.null)
        pipeline.removeMessageHandler()
        guard result == .failure else { return nil }
        return Finding(
            problem: "\(factory) can't be opened: \(said.withLock { $0 } ?? "it doesn't say why")", mend: mend)
    }
}
