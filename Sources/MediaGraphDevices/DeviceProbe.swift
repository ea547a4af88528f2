import Foundation
import GStreamer
import MediaGraphDescription
import X11

/// Converts the devices of providers and of the X server to ``MediaDevice``, with the text that a description uses. Its
/// methods block: don't call them in a Swift task.
package enum DeviceProbe {
    /// Converts the devices of one provider.
    static func devices(_ devices: [Device]) -> [MediaDevice] {
        // Leaves out the streams of programs: a program that reads a camera may have the camera's name.
        let nodes = devices.filter { kind($0.deviceClass) != nil }
            .compactMap { $0.properties?["node.name"] as String? }
        return devices.compactMap { device($0, among: nodes) }
    }

    /// Merges the devices of all providers, and sorts them for the list.
    static func merged(_ devices: [MediaDevice], of kind: MediaDevice.Kind?) -> [MediaDevice] {
        let heard = withoutDuplicates(devices)
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

    /// Removes duplicates. PipeWire is also a PulseAudio server, so both providers list its sound devices. PulseAudio's
    /// entry is kept: only it can be the default, and only its element reports when the device is lost.
    private static func withoutDuplicates(_ devices: [MediaDevice]) -> [MediaDevice] {
        let (others, pipeWire) = (devices.filter { !isPipeWire($0) }, devices.filter(isPipeWire))
        return others
            + pipeWire.filter { device in
                !others.contains { $0.kind == device.kind && $0.path == device.path }
            }
    }

    private static func isPipeWire(_ device: MediaDevice) -> Bool { device.text.hasPrefix("pipewire") }

    /// - Parameter nodes: The names of all PipeWire nodes, if it is PipeWire's device.
    private static func device(_ device: Device, among nodes: [String]) -> MediaDevice? {
        guard let kind = kind(device.deviceClass), let element = device.makeElement() else { return nil }
        let properties = device.properties
        // PipeWire's provider sets a number, which changes when the device is plugged in again. Use the name instead,
        // unless two nodes share it.
        if let node: String = properties?["node.name"], nodes.count(where: { $0 == node }) == 1,
            element.hasProperty("target-object")
        {
            element.configure("target-object", to: node)
        }
        DeviceChain.stampPipeWire(element)
        guard let (text, path) = text(element) else { return nil }
        return MediaDevice(
            kind: kind, name: device.displayName, path: path ?? device.displayName, text: text,
            isDefault: properties?["is-default"] ?? isDefaultDevice(element, path),
            isMonitor: properties?["device.class"] == "monitor",
            formats: device.caps.map(formats) ?? [], users: DeviceUsers.of(file(kind, path)))
    }

    /// Returns the file that programs open to use a device: a camera's path, or the file for one direction of a sound
    /// card.
    private static func file(_ kind: MediaDevice.Kind, _ path: String?) -> String? {
        guard let path, path.hasPrefix("hw:") else { return path }
        return ALSAStream.all().first { $0.kind == kind && $0.path == path }?.file
    }

    /// Returns the ALSA devices that are in use. ALSA's provider omits them because it can't open them, so they would
    /// look unplugged. Empty if there is a sound server, whose devices are listed instead.
    private static func streamsInUse(besides listed: [MediaDevice]) -> [MediaDevice] {
        let sound = listed.filter { $0.kind == .microphone || $0.kind == .speaker }
        guard sound.allSatisfy({ $0.path.hasPrefix("hw:") }) else { return [] }
        return ALSAStream.all().filter { stream in
            !sound.contains { $0.kind == stream.kind && $0.path == stream.path }
        }.compactMap { stream in
            let users = DeviceUsers.of(stream.file)
            // A device that isn't in use and still can't be opened is useless.
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

    /// The properties that select an element's device. They are always written; other properties only if they differ
    /// from the defaults.
    private static let namingProperties = ["device", "target-object", "path", "display-name"]

    /// Returns the element's text for a description, and the path of its device.
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

    /// Whether the device is its element's default. V4L2 has no other notion of a default device.
    private static func isDefaultDevice(_ element: Element, _ path: String?) -> Bool? {
        guard let path, let plain = element.factoryName.flatMap({ Element(factory: $0) }),
            let device = try? plain.propertyText("device"), !device.isEmpty
        else { return nil }
        return device == path
    }

    /// Returns the formats in which `ximagesrc` captures an X screen; `nil` if the screen can't be opened. The element
    /// isn't asked, because a server that ends meanwhile would end the process.
    package static func formats(ofScreen display: String) -> [DeviceFormat]? {
        guard ElementFactoryInfo.find(ScreenCapture.factory) != nil, let screen = XWindows.screen(of: display) else {
            return nil
        }
        // The usual pixels of each depth; others aren't known here.
        let format =
            switch (screen.depth, screen.isLittleEndian) {
            case (24, true): ",format=BGRx"
            case (24, false): ",format=xRGB"
            default: ""
            }
        let size = ",width=\(screen.width),height=\(screen.height)"
        return Caps("video/x-raw\(format)\(size),framerate=[0/1,2147483647/1]").map(formats)
    }

    /// The value of `DISPLAY`; `nil` if it isn't set.
    static var display: String? {
        ProcessInfo.processInfo.environment["DISPLAY"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the screen of `DISPLAY`; empty if there is no X server.
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
