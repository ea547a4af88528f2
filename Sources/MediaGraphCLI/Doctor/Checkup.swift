import Foundation
import MediaGraph

/// What is looked after, and what it lacks.
struct Checkup: Encodable {
    /// Something one may want to do, or a description's file.
    var title: String
    var findings: [Finding]

    /// Without a description: what people use a machine for.
    static func general() -> [Checkup] {
        // First: elements that are opened may make the folder.
        let rooms = rooms
        return areas.map { title, elements in
            Checkup(title: title, findings: unique(elements.compactMap { ElementFinding.find($0) }))
        } + [rooms, pictures]
    }

    private static let areas: [(String, [String])] = [
        (
            "MediaGraph's nodes",
            ["appsrc", "appsink", "videoconvertscale", "audioconvert", "audioresample", "audiomixer", "alpha"]
        ),
        ("cameras", ["v4l2src", "jpegdec"]),
        ("microphones and speakers of the sound server", ["pulsesrc", "pulsesink"]),
        ("microphones and speakers by ALSA", ["alsasrc", "alsasink"]),
        ("screens and windows", ["ximagesrc", "ximagesink"]),
        ("recordings", ["matroskamux", "vp8enc", "x264enc", "opusenc", "wavenc", "pngenc"]),
    ]

    /// A description's elements, each with the properties that it has there.
    static func of(_ description: Description, _ title: String, _ variables: [String: String]) throws -> Checkup {
        var values = variables
        // A value that is still to be given says nothing about the machine.
        for variable in description.variables where values[variable.name] == nil && variable.defaultValue == nil {
            values[variable.name] = "unknown"
        }
        let elements = try description.outline(with: values).elements.filter { $0.kind == .element }
        let room = elements.contains { $0.factory == "mediasession" } ? rooms.findings : []
        return Checkup(title: title, findings: unique(elements.flatMap(findings) + room))
    }

    private static func findings(_ element: DescriptionOutline.Element) -> [Finding] {
        let own = ElementFinding.find(element.factory, element.properties.map { ($0.name, $0.value) })
        return [own].compactMap(\.self) + (element.factory == "devicesource" ? device(of: element) : [])
    }

    /// What a device source has inside: its own description, or the default device of its kind.
    private static func device(of element: DescriptionOutline.Element) -> [Finding] {
        func value(_ property: String) -> String? { element.properties.last { $0.name == property }?.value }
        if let source = value("source"), !source.isEmpty {
            let inside = (try? Description(source).outline())?.elements ?? []
            return inside.filter { $0.kind == .element }.flatMap(findings)
        }
        switch value("kind") ?? "camera" {
        case "camera": return [ElementFinding.find("v4l2src")].compactMap(\.self)
        case "screen": return [ElementFinding.find("ximagesrc")].compactMap(\.self)
        // Whichever sound system there is.
        default: return []
        }
    }

    private static var rooms: Checkup {
        Checkup(
            title: "rooms that several programs share",
            findings: RoomDirectory.problem.map { [Finding(problem: "\($0)", mend: RoomDirectory.mend)] } ?? [])
    }

    private static var pictures: Checkup {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        let hasDot = folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/dot") }
        return Checkup(
            title: "mediagraph graph",
            findings: hasDot
                ? [] : [Finding(problem: "there is no program dot", mend: "sudo apt-get install graphviz")])
    }

    private static func unique(_ findings: [Finding]) -> [Finding] {
        var seen: Set<Finding> = []
        return findings.filter { seen.insert($0).inserted }
    }
}
