import Foundation
import GStreamer
import MediaGraph
import Synchronization
import X11

/// An element of a description that opens a device or connects to a server.
struct OpenedElement {
    let factory: String
    let properties: [(name: String, value: String)]
    /// The caps that the description asks of it.
    let filter: String?

    /// The value that the description gives to a property; `nil` if it gives none.
    subscript(_ property: String) -> String? { properties.last { $0.name == property }?.value }
}

/// A family of elements that use the same devices or server.
enum DeviceFamily {
    case camera, pulse, pipewire, alsa, x
    /// `autoaudiosrc` and `autoaudiosink`, for which GStreamer chooses the device.
    case anySound

    init?(_ factory: String) {
        switch factory {
        case "v4l2src", "v4l2sink": self = .camera
        case "pulsesrc", "pulsesink": self = .pulse
        case "pipewiresrc", "pipewiresink": self = .pipewire
        case "alsasrc", "alsasink": self = .alsa
        case "ximagesrc", "ximagesink", "xvimagesink": self = .x
        // autovideosink tries one sink after the other; without a display it ends with one that crashes.
        case "autovideosink": self = .x
        case "autovideosrc": self = .camera
        case "autoaudiosrc", "autoaudiosink": self = .anySound
        default: return nil
        }
    }

    /// The families whose server or driver hasn't answered. They aren't asked again.
    private static let hanging = Mutex<Set<DeviceFamily>>([])

    /// Opens the element and returns what is wrong; `nil` if nothing. Blocks for at most five seconds.
    func finding(_ opened: OpenedElement) -> Finding? {
        if !Self.hanging.withLock({ $0.contains(self) }) {
            if let answer = DeviceCall({ ask(opened) }).answer(within: .seconds(5)) { return answer }
            Self.hanging.withLock { _ = $0.insert(self) }
        }
        let (culprit, mend) = hang
        return Finding(problem: "\(culprit) hangs: it doesn't answer within five seconds", mend: mend)
    }

    /// What hangs when an element of the family doesn't return, and how to fix that.
    var hang: (culprit: String, mend: String) {
        switch self {
        case .camera: ("a camera's driver", "unplug the camera and plug it in again; sudo dmesg may show more")
        case .pulse, .alsa, .anySound:
            (
                "the sound server, or a sound card's driver,",
                "restart the sound server: pulseaudio --kill; pulseaudio --start, or systemctl --user restart pipewire-pulse"
            )
        case .pipewire: ("PipeWire", "systemctl --user restart pipewire wireplumber")
        case .x: ("the X server", "check that xdpyinfo works (sudo apt install x11-utils), or set another DISPLAY")
        }
    }

    private func ask(_ opened: OpenedElement) -> Finding? {
        switch self {
        case .camera where opened.factory == "autovideosrc":
            do throws(MediaGraphError) {
                _ = try DefaultDevice.text(.camera)
                return nil
            } catch {
                return ElementFinding.none(of: .camera, error)
            }
        case .camera:
            return camera(opened["device"] ?? "/dev/video0", isOutput: opened.factory.hasSuffix("sink"))
                ?? refusal(opened, "run mediagraph devices to list the cameras and the programs that use them")
        case .pulse:
            let named = ServerSockets.namedSoundServer
            let start =
                named.map { "check that a sound server runs at PULSE_SERVER=\($0), or unset PULSE_SERVER" }
                ?? "start the sound server: pulseaudio --start, or systemctl --user start pipewire-pulse"
            return refusal(opened, "\(start); mediagraph devices lists its devices")
                ?? opened["device"].map { soundDevice($0, opened.factory) } ?? defaultMicrophone(opened.factory)
        case .pipewire:
            return refusal(opened, "systemctl --user start pipewire wireplumber")
                ?? (opened.factory == "pipewiresrc" ? pipeWireNode(opened["target-object"] ?? "") : nil)
        case .alsa: return alsa(opened)
        case .x: return screen(opened)
        case .anySound:
            return refusal(opened, "start a sound server: pulseaudio --start; mediagraph devices lists its devices")
        }
    }

    private func camera(_ path: String, isOutput: Bool) -> Finding? {
        guard FileManager.default.fileExists(atPath: path) else {
            let number = path.split(separator: "/").last.flatMap { Int($0.drop { !$0.isNumber }) } ?? 20
            // exclusive_caps=1: browsers list the device as a camera only if it doesn't also announce itself as an
            // output.
            let virtual = "sudo modprobe v4l2loopback exclusive_caps=1 video_nr=\(number) (package v4l2loopback-dkms)"
            return isOutput
                ? Finding(problem: "there is no virtual camera \(path)", mend: virtual)
                : Finding(
                    problem: "there is no camera \(path)",
                    mend: "plug one in, and run mediagraph devices; to create a virtual one: \(virtual)")
        }
        return access(path, R_OK | W_OK) == 0
            ? nil
            : Finding(
                problem: "no permission to open \(path)", mend: "sudo usermod -aG video \"$USER\", and log in again")
    }

    private func pipeWireNode(_ name: String) -> Finding? {
        switch PipeWireProvider.node(name) {
        case .device, .unknown: return nil
        case .unanswered:
            return Finding(problem: "PipeWire doesn't answer", mend: "systemctl --user restart pipewire wireplumber")
        case .missing:
            return Finding(
                problem: name.isEmpty ? "PipeWire has no camera and no microphone" : "PipeWire has no node \(name)",
                mend:
                    "mediagraph devices lists its devices; for a virtual camera, see Pipelines/virtual-camera.pipeline"
            )
        }
    }

    /// Checks that the sound server has a device. PulseAudio's elements look for their device only after they were
    /// opened.
    private func soundDevice(_ name: String, _ factory: String) -> Finding? {
        // Indices, and names such as @DEFAULT_SOURCE@, are resolved by the server.
        guard !name.isEmpty, Int(name) == nil, !name.hasPrefix("@") else { return nil }
        let list = MediaDevices.listNow(factory.hasSuffix("sink") ? .speaker : .microphone)
        let known = list.devices.filter { $0.isNamed(by: factory) }
        guard !known.isEmpty, !known.contains(where: { $0.path == name }) else { return nil }
        let nearest = NearestName.find(name, among: known.map(\.path)).map { ", such as \($0)" } ?? ""
        return Finding(
            problem: "the sound server has no device \(name) for \(factory)",
            mend: "mediagraph devices lists its devices\(nearest)")
    }

    /// Checks that the default source is a microphone. A server without a microphone uses a monitor instead.
    private func defaultMicrophone(_ factory: String) -> Finding? {
        guard factory == "pulsesrc" else { return nil }
        let devices = MediaDevices.listNow(.microphone).devices.filter { $0.isNamed(by: factory) }
        guard let source = devices.first(where: { $0.isDefault == true }), source.isMonitor else { return nil }
        let microphone = devices.first { !$0.isMonitor }
        let problem = "the sound server's default source is \(source.path), which records what a speaker plays"
        return Finding(
            problem: microphone == nil
                ? "the sound server has no microphone: its default source is a monitor" : problem,
            mend: microphone.map { "pactl set-default-source \($0.path), or write pulsesrc device=\($0.path)" }
                ?? "plug one in, and run mediagraph devices")
    }

    private func alsa(_ opened: OpenedElement) -> Finding? {
        guard let finding = refusal(opened, Self.alsaMend) else { return nil }
        let plain = OpenedElement(factory: opened.factory, properties: [], filter: opened.filter)
        guard let name = opened["device"], refusal(plain, "") == nil else { return finding }
        return Finding(
            problem: "\(finding.problem) (\(name))",
            mend: "\(opened.factory) without device works; arecord -L and aplay -L list the names")
    }

    /// How to fix ALSA's devices, depending on whether there are sound cards and whether they may be opened.
    static var alsaMend: String {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/snd")) ?? []
        if files.isEmpty {
            return
                "there is no sound card: start a sound server (pulseaudio --start), or load a virtual card (sudo modprobe snd-aloop)"
        }
        let isForbidden = files.contains { $0.hasPrefix("pcm") && access("/dev/snd/\($0)", R_OK | W_OK) != 0 }
        return isForbidden
            ? "sudo usermod -aG audio \"$USER\", and log in again"
            : "run mediagraph devices, aplay -L and arecord -L to list the devices"
    }

    private func screen(_ opened: OpenedElement) -> Finding? {
        let given = opened["display-name"] ?? opened["display"]
        let wayland = ProcessInfo.processInfo.environment["WAYLAND_DISPLAY"] ?? ""
        if opened.factory == "autovideosink", !wayland.isEmpty { return nil }
        let mend =
            (given == nil
                ? "run export DISPLAY=:0 in your session"
                : "name an existing screen, or remove the property to use DISPLAY")
            + "; without a screen: xvfb-run -a mediagraph run …"
        guard let name = given ?? ProcessInfo.processInfo.environment["DISPLAY"], !name.isEmpty else {
            return Finding(problem: "DISPLAY isn't set: there is no screen", mend: mend)
        }
        // The probe needs ximagesrc.
        guard ElementFactoryInfo.find("ximagesrc") != nil else { return nil }
        guard DeviceProbe.formats(ofScreen: name) != nil else {
            return Finding(problem: "the screen \(name) can't be opened", mend: mend)
        }
        return window(opened, name)
    }

    private func window(_ opened: OpenedElement, _ screen: String) -> Finding? {
        let (number, title) = (opened["xid"].flatMap(Self.number) ?? 0, opened["xname"] ?? "")
        guard number != 0 || !title.isEmpty else { return nil }
        guard XWindows.window(number, named: title, on: screen) == nil else { return nil }
        let label = title.isEmpty ? "0x\(String(number, radix: 16))" : "\"\(title)\""
        return Finding(
            problem: "the screen \(screen) has no window \(label)",
            mend: "xwininfo shows the name and number of the window that you click (sudo apt install x11-utils)")
    }

    /// Parses a decimal or hexadecimal number of a description.
    private static func number(_ text: String) -> UInt? {
        text.hasPrefix("0x") ? UInt(text.dropFirst(2), radix: 16) : UInt(text)
    }

    /// Opens the element by setting it to READY. Returns its error, or a finding if it doesn't offer the filter's caps.
    private func refusal(_ opened: OpenedElement, _ mend: String) -> Finding? {
        guard let element = Element(factory: opened.factory) else { return nil }
        // A wrong property is a mistake of the description, which `mediagraph check` reports, and not a lack of the machine.
        for property in opened.properties { try? element.setPropertyQuietly(property.name, parsing: property.value) }
        let pipeline = Pipeline()
        let errorMessage = Mutex<String?>(nil)
        pipeline.onMessage { message in
            switch message.kind {
            case .error(let report): errorMessage.withLock { $0 = $0 ?? report.error.message }
            // Without a device, autoaudiosink only warns, and continues with a fake sink.
            case .warning(let report) where self == .anySound: errorMessage.withLock { $0 = $0 ?? report.error.message }
            default: break
            }
        }
        pipeline.add(element)
        let result = pipeline.setState(.ready)
        let given = result == .failure ? nil : element.staticPad("src")?.queryCaps()
        pipeline.setState(.null)
        pipeline.removeMessageHandler()
        guard result != .failure, self != .anySound || errorMessage.withLock({ $0 }) == nil else {
            return Finding(
                problem: "\(opened.factory) can't be opened: \(errorMessage.withLock { $0 } ?? "no reason was given")",
                mend: mend)
        }
        guard let filter = opened.filter, let wanted = Caps(filter), let given, !given.canIntersect(wanted) else {
            return nil
        }
        return Finding(
            problem: "\(opened["device"] ?? opened.factory) doesn't support \(filter)",
            mend: "mediagraph devices lists the formats of each device")
    }
}

extension MediaDevice {
    /// Returns whether an element of this factory can open the device by its name.
    func isNamed(by factory: String) -> Bool {
        factory == "devicesource" ? ![.speaker, .videoOutput].contains(kind) : text.hasPrefix("\(factory) ")
    }
}
