import Foundation
import GStreamer
import MediaGraphDescription

/// What providers and the X server say of devices, as a description has it. It blocks: never in a Swift task.
package enum DeviceProbe {
    /// Those of one provider.
    static func devices(_ devices: [Device]) -> [MediaDevice] {
        // Programs' streams aren't meant where a device is: one that reads a camera may have its name.
        let nodes = devices.filter { kind($0.deviceClass) != nil }
            .compactMap { $0.properties?["node.name"] as String? }
        return devices.compactMap { device($0, among: nodes) }
    }

    /// Those of all, as they are listed.
    static func merged(_ devices: [MediaDevice], of kind: MediaDevice.Kind?) -> [MediaDevice] {
        let heard = onceEach(devices)
        guard kind == nil || kind == .microphone || kind == .speaker else { return sorted(heard) }
        return sorted(heard + streamsInUse(besides: heard).filter { kind == nil || $0.kind == kind })
    }

    private static func sorted(_ devices: [MediaDevice]) -> [MediaDevice] {
        let order = MediaDevice.Kind.allCases
        func rank(_ device: MediaDevice) -> (Int, Int, Int, String) {
            (
                order.firstIndex(of: device.kind) ?? 0, device.isDefault == true ? 0 : 1, device.isMonitor ? 1 : 0,
                device.path
            )
        }
        return devices.sorted { rank($0) < rank($1) }
    }

    /// PipeWire is PulseAudio's server too, and both providers have its sound: as PulseAudio's it can be the default, and its loss
    /// is told.
    private static func onceEach(_ devices: [MediaDevice]) -> [MediaDevice] {
        let (others, pipeWires) = (devices.filter { !isPipeWires($0) }, devices.filter(isPipeWires))
        return others
            + pipeWires.filter { device in
                !others.contains { $0.kind == device.kind && $0.path == device.path }
            }
    }

    private static func isPipeWires(_ device: MediaDevice) -> Bool { device.text.hasPrefix("pipewire") }

    /// - Parameter nodes: the names of PipeWire's, where it is one of those.
    private static func device(_ device: Device, among nodes: [String]) -> MediaDevice? {
        guard let kind = kind(device.deviceClass), let element = device.makeElement() else { return nil }
        let properties = device.properties
        // PipeWire's provider says a number, which is another whenever the device comes back; a name may be that of two.
        if let node: String = properties?["node.name"], nodes.count(where: { $0 == node }) == 1,
            element.hasProperty("target-object")
        {
            try? element.setProperty("target-object", to: node)
        }
        DeviceChain.stampPipeWire(element)
        guard let (text, path) = text(element) else { return nil }
        return MediaDevice(
            kind: kind, name: device.displayName, path: path ?? device.displayName, text: text,
            isDefault: properties?["is-default"] ?? isElementsDefault(element, path),
            isMonitor: properties?["device.class"] == "monitor",
            formats: device.caps.map(formats) ?? [], users: DeviceUsers.of(file(kind, path)))
    }

    /// What programs open of it: a camera's path, or of a sound card the file of its direction.
    private static func file(_ kind: MediaDevice.Kind, _ path: String?) -> String? {
        guard let path, path.hasPrefix("hw:") else { return path }
        return ALSAStream.all().first { $0.kind == kind && $0.path == path }?.file
    }

    /// ALSA's provider leaves out what somebody uses, since it can't open it: nothing would tell such a device from one that was
    /// unplugged. Where a sound server stands before ALSA, its devices are listed and not these.
    private static func streamsInUse(besides listed: [MediaDevice]) -> [MediaDevice] {
        let sound = listed.filter { $0.kind == .microphone || $0.kind == .speaker }
        guard sound.allSatisfy({ $0.path.hasPrefix("hw:") }) else { return [] }
        return ALSAStream.all().filter { stream in
            !sound.contains { $0.kind == stream.kind && $0.path == stream.path }
        }.compactMap { stream in
            let users = DeviceUsers.of(stream.file)
            // What nobody uses and can't be opened is of no use either.
            guard !users.isEmpty else { return nil }
            return MediaDevice(
                kind: stream.kind, name: stream.name, path: stream.path, text: stream.text, isDefault: false,
                isMonitor: false, formats: [], users: users)
        }
    }

    private static func kind(_ deviceClass: String) -> MediaDevice.Kind? {
        switch deviceClass {
        case "Video/Source": .camera
        case "Video/Sink": .videoOutput
        case "Audio/Source": .microphone
        case "Audio/Sink": .speaker
        default: nil
        }
    }

    private static func formats(_ caps: Caps) -> [DeviceFormat] {
        caps.isAny ? [] : (0..<caps.count).map { DeviceFormat(caps[$0]) }
    }

    /// Properties that say which device an element uses; the others that differ from a new element's are set too.
    private static let namingProperties = ["device", "target-object", "path", "display-name"]

    /// The element as a description has it, and what it calls its device.
    private static func text(_ element: Element) -> (text: String, path: String?)? {
        guard let factory = element.factoryName, let info = ElementFactoryInfo.find(factory),
            let plain = Element(factory: factory)
        else { return nil }
        var (text, path) = (factory, String?.none)
        for property in info.properties where property.isReadable && property.isWritable && property.name != "name" {
            guard let value = try? element.propertyText(property.name), !value.isEmpty else { continue }
            let isNaming = namingProperties.contains(property.name)
            if isNaming, path == nil { path = value }
            let isChanged = (try? plain.propertyText(property.name)) != value
            if isChanged || isNaming { text += " \(property.name)=\(DescriptionText.quoted(value))" }
        }
        return (text, path)
    }

    /// V4L2 has no default but the one that its element begins with.
    private static func isElementsDefault(_ element: Element, _ path: String?) -> Bool? {
        guard let path, let plain = element.factoryName.flatMap({ Element(factory: $0) }),
            let device = try? plain.propertyText("device"), !device.isEmpty
        else { return nil }
        return device == path
    }

    /// `nil` where the screen can't be opened.
    package static func formats(ofScreen display: String) -> [DeviceFormat]? {
        ScreenLosses.keepProcess(by: [ScreenCapture.factory])
        guard let element = Element(factory: ScreenCapture.factory) else { return nil }
        try? element.setProperty("display-name", to: display)
        let caps = ScreenTurn.take {
            defer {
                element.setState(.null)
                element.releaseSource()
            }
            return element.setState(.ready) == .failure ? nil : element.staticPad("src")?.queryCaps()
        }
        guard let caps else { return nil }
        let formats = formats(caps)
        // Where it can't be opened, its size is whatever an X screen may have.
        guard let width = formats.first?.widths.first, width.least == width.greatest else { return nil }
        return formats
    }

    /// The X server that clients of this process get.
    static var display: String? {
        ProcessInfo.processInfo.environment["DISPLAY"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Its screen; none where there is no server.
    static func screens() -> [MediaDevice] {
        guard let display,
            let formats = formats(ofScreen: display)
        else { return [] }
        return [
            MediaDevice(
                kind: .screen, name: "X screen \(display)", path: display,
                text: "ximagesrc use-damage=false display-name=\(DescriptionText.quoted(display))", isDefault: true,
                isMonitor: false, formats: formats, users: [])
        ]
    }
}
