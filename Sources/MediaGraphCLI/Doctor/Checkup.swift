import Foundation
import MediaGraph
import MediaGraphRoomLink

/// The result of checking one area of the machine, or one description.
struct Checkup: Encodable {
    /// The area, or the name of the description.
    var title: String
    var findings: [Finding]

    /// Checks everything that a machine is usually used for. Blocks while servers and drivers are asked.
    static func general() -> [Checkup] {
        // Checked first, because opening elements may create the folder for rooms.
        let rooms = rooms
        // The areas are checked in parallel: each waits for other servers.
        let calls = areas.map { title, devices, elements in
            DeviceCall {
                let found =
                    devices.flatMap { findings(ofDefault: $0) } + elements.compactMap { ElementFinding.find($0) }
                return Checkup(title: title, findings: unique(found))
            }
        }
        let checkups = zip(areas, calls).map { area, call in
            // Each check in an area has its own, shorter limit.
            call.answer(within: .seconds(60)) ?? Checkup(title: area.0, findings: [ElementFinding.endless])
        }
        return checkups + [rooms, pictures]
    }

    private static let areas: [(String, [DeviceKind], [String])] = [
        (
            "MediaGraph's nodes", [],
            ["appsrc", "appsink", "videoconvertscale", "audioconvert", "audioresample", "audiomixer", "alpha"]
        ),
        ("cameras", [.camera], ["jpegdec"]),
        ("microphones and speakers of the sound server", [], ["pulsesrc", "pulsesink"]),
        ("microphones and speakers of ALSA", [], ["alsasrc", "alsasink"]),
        ("screens and windows", [], ["ximagesrc", "ximagesink"]),
        ("recordings", [], ["matroskamux", "vp8enc", "x264enc", "opusenc", "wavenc", "pngenc"]),
    ]

    /// Checks the elements of a description, with their properties. Throws if the description can't be expanded.
    static func of(_ description: Description, _ title: String, _ variables: [String: String]) throws -> Checkup {
        var values = variables
        // A variable without a value mustn't keep the rest of the description from being checked.
        for variable in description.variables where values[variable.name] == nil && variable.defaultValue == nil {
            values[variable.name] = unknown
        }
        let resolved = description.resolved(with: values)
        _ = try resolved.text
        let outline = resolved.outline
        let room = outline.elements.contains { $0.factory == "mediasession" } ? rooms.findings : []
        return Checkup(title: title, findings: unique(findings(outline) + room))
    }

    /// Stands for the value of a variable that wasn't given. Elements, properties and caps that contain it aren't
    /// checked.
    private static let unknown = "unknown-variable"

    private static func findings(_ outline: DescriptionOutline) -> [Finding] {
        outline.elements.indices.flatMap { index -> [Finding] in
            let element = outline.elements[index]
            guard element.kind == .element, !element.factory.contains(unknown) else { return [] }
            let filter = outline.links.first { $0.source == index }?.filter
            let own = ElementFinding.find(
                element.factory,
                element.properties.filter { !$0.value.contains(unknown) }.map { ($0.name, $0.value) },
                filter: filter.flatMap { $0.contains(unknown) ? nil : $0 })
            return [own].compactMap(\.self) + (element.factory == "devicesource" ? device(of: element) : [])
        }
    }

    private static func findings(of text: String) -> [Finding] {
        findings(Description(text).resolved().outline)
    }

    /// Checks the device of a `devicesource`: the elements of its `source` property, or the default device of its kind.
    private static func device(of element: DescriptionOutline.Element) -> [Finding] {
        func value(_ property: String) -> String? { element.properties.last { $0.name == property }?.value }
        if let source = value("source"), !source.isEmpty { return findings(of: source) }
        guard let kind = value("kind") else { return findings(ofDefault: .camera) }
        return kind.contains(unknown) ? [] : findings(ofDefault: DeviceKind(nick: kind) ?? .camera)
    }

    private static func findings(ofDefault kind: DeviceKind) -> [Finding] {
        do throws(MediaGraphError) { return findings(of: try DefaultDevice.text(kind)) } catch {
            return [ElementFinding.none(of: kind, error)]
        }
    }

    private static var rooms: Checkup {
        Checkup(
            title: "rooms shared by several programs",
            findings: RoomDirectory.problem.map { [Finding(problem: "\($0)", mend: RoomDirectory.mend)] } ?? [])
    }

    private static var pictures: Checkup {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        let hasDot = folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/dot") }
        return Checkup(
            title: "mediagraph graph",
            findings: hasDot
                ? [] : [Finding(problem: "the program dot isn't installed", mend: "sudo apt install graphviz")])
    }

    private static func unique(_ findings: [Finding]) -> [Finding] {
        var seen: Set<Finding> = []
        return findings.filter { seen.insert($0).inserted }
    }
}

/// Something that this machine lacks.
struct Finding: Encodable, Hashable {
    /// What is wrong: a sentence without a full stop.
    var problem: String
    /// How to fix it: a command if possible.
    var mend: String
}
