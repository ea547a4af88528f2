import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// A file that an element of a description, or the element's handler, reads or writes.
///
/// Handlers declare their files (``HandlerOption/isInput``, ``HandlerOption/isOutput``). For stock elements the
/// property's name and the pads decide: `location` is read by an element with a source pad and written by an element
/// with sink pads only.
package struct FileUse {
    package enum Access: Sendable { case reads, writes }

    package let access: Access
    /// The file's path, also if the description names it by a `file:` URI or a descriptor.
    package let path: String
    package let style: FileName.Style
    /// What uses the file, as messages call it: `filesink`, `rawdatapipe handler=y4m`.
    package let user: String
    /// Whether it is an open descriptor of the process, such as standard output. Several writers may share one, since
    /// each continues where the others stopped.
    var isDescriptor = false
    private let origin: Origin

    /// Where the file is named, which is where a diagnostic points.
    private enum Origin {
        case property(DescribedProperty)
        case option(DescribedProperty, name: String)
        /// The path is a property's default, or the element is a URI.
        case element(DescribedElement, property: String?)
        /// Outside the description, such as the program's control file.
        case outside
    }

    /// Creates a file that the program itself uses in addition to the description's. Messages call its user `user`.
    package init(_ access: Access, _ path: String, by user: String) {
        (self.access, self.path, self.user) = (access, path, user)
        (style, origin) = (.path, .outside)
    }

    private init(
        access: Access, path: String, style: FileName.Style, user: String, isDescriptor: Bool = false, origin: Origin
    ) {
        (self.access, self.path, self.style, self.user) = (access, path, style, user)
        (self.isDescriptor, self.origin) = (isDescriptor, origin)
    }

    /// The path in quotes, or the name of a standard stream.
    package var name: String {
        switch path {
        case "/dev/fd/0" where isDescriptor: "standard input"
        case "/dev/fd/1" where isDescriptor: "standard output"
        default: "\"\(path)\""
        }
    }

    /// The property that would set the path, if the description doesn't set it.
    var missingProperty: String? { if case .element(_, let property) = origin { property } else { nil } }

    /// Returns a diagnostic that points at the file's origin; `nil` for a file outside the description.
    func diagnostic(_ message: String, hint: String?, severity: Diagnostic.Severity) -> Diagnostic? {
        switch origin {
        case .property(let property): property.diagnostic(message, hint: hint, severity: severity)
        case .option(let options, let name):
            options.diagnostic(message, hint: hint, severity: severity).narrowed(toOption: name)
        case .element(let element, _): element.diagnostic(message, hint: hint, severity: severity)
        case .outside: nil
        }
    }
}

extension FileUse {
    /// Returns the files named by the properties and options of an element and of the elements nested in its
    /// properties.
    static func all(of element: DescribedElement) -> [FileUse] { ([element] + element.nested).flatMap(own) }

    /// Returns the files of one element, without those of nested elements.
    private static func own(_ element: DescribedElement) -> [FileUse] {
        if let access = element.uriAccess { return [uri(element.factory, access, element)].compactMap(\.self) }
        return descriptors(element) + stock(element) + joined(element)
            + HandlerProperty.all(of: element.factory).flatMap { handlers($0, element) }
    }

    // MARK: Stock elements

    /// Properties whose files are read or written, according to the property's name.
    private static let read: Set = ["uri", "suburi", "source-uri", "template"]
    private static let written: Set = [
        "dest-uri", "faststart-file", "init-location", "moov-recovery-file", "playlist-location",
    ]
    private static let patterns: [String: FileName.Style] = [
        "hlscmafsink": .numbered, "hlssink": .numbered, "hlssink2": .numbered, "hlssink3": .numbered,
        "imagesequencesrc": .numbered, "multifilesink": .numbered, "multifilesrc": .numbered,
        "splitmuxsink": .numbered, "splitfilesrc": .wildcard, "splitmuxsrc": .wildcard,
    ]

    private static func stock(_ element: DescribedElement) -> [FileUse] {
        guard let factory = ElementFactoryInfo.find(element.factory), factory.name != "curlfilesink" else { return [] }
        let isNetwork = factory.classification.contains("Network")
        return fileProperties(of: factory).compactMap { info in
            guard let access = info.name == "multipass-cache-file" ? passFile(element) : access(info.name, factory)
            else { return nil }
            let given = element.properties.last { $0.name.replacing("_", with: "-") == info.name }
            let isURI = info.name.contains("uri") || isNetwork
            let initial = info.defaultText.flatMap {
                PropertyText.unwrapped(Array($0.utf8)).map { String(decoding: $0, as: UTF8.self) }
            }
            guard let value = given.map(\.value) ?? initial, let path = path(value, isURI: isURI),
                !path.isEmpty || given != nil && factory.name.hasPrefix("files")
            else { return nil }
            return FileUse(
                access: access, path: path, style: info.name == "location" ? patterns[factory.name] ?? .path : .path,
                user: element.label, origin: given.map { .property($0) } ?? .element(element, property: info.name))
        }
    }

    /// Returns a factory's properties that may name files. Cached.
    private static func fileProperties(of factory: ElementFactoryInfo) -> [PropertyInfo] {
        if let known = knownProperties.withLock({ $0[factory.name] }) { return known }
        let found = factory.properties.filter { info in
            info.kind == .string && info.isWritable
                && (info.name == "multipass-cache-file" || access(info.name, factory) != nil)
        }
        knownProperties.withLock { $0[factory.name] = found }
        return found
    }

    private static let knownProperties = Mutex<[String: [PropertyInfo]]>([:])

    /// Elements whose path consists of a folder property and a name property.
    private static let joinedProperties = [
        "curlfilesink": ("location", "file-name"), "dashsink": ("mpd-root-path", "mpd-filename"),
    ]

    private static func joined(_ element: DescribedElement) -> [FileUse] {
        guard let (folder, name) = joinedProperties[element.factory] else { return [] }
        let given = element.property(name)
        guard let file = given.map(\.value) ?? (element.factory == "dashsink" ? "dash.mpd" : nil), !file.isEmpty,
            let folder = path(element.property(folder)?.value ?? ".", isURI: element.factory == "curlfilesink")
        else { return [] }
        return [
            FileUse(
                access: .writes, path: folder.hasSuffix("/") ? folder + file : "\(folder)/\(file)", style: .path,
                user: element.label, origin: given.map { .property($0) } ?? .element(element, property: name))
        ]
    }

    /// Returns the access to a multi-pass encoder's statistics file, which the first pass writes and the later passes
    /// read.
    private static func passFile(_ element: DescribedElement) -> Access? {
        switch (element.property("multipass-mode") ?? element.property("pass"))?.value {
        case "first-pass", "pass1", "pass3", "17", "19": .writes
        case "last-pass", "second-pass", "pass2", "18": .reads
        default: nil
        }
    }

    private static func access(_ property: String, _ factory: ElementFactoryInfo) -> Access? {
        if read.contains(property) { return .reads }
        if written.contains(property) { return .writes }
        guard property == "location" else { return nil }
        let directions = Set(factory.padTemplates.map(\.direction))
        return directions == [.sink] ? .writes : .reads
    }

    /// Returns the path in a property's value; `nil` for a URI that isn't a file's.
    ///
    /// - Parameter isURI: whether the property holds a URI, so that any value without `file:` isn't a path.
    private static func path(_ value: String, isURI: Bool) -> String? {
        if value.lowercased().hasPrefix("file:") {
            guard let url = URL(string: value) else { return value }
            // A file on another computer isn't checked.
            return ["", "localhost"].contains(url.host ?? "") ? url.path : nil
        }
        let scheme = value.firstRange(of: "://").map { value[..<$0.lowerBound] }
        let isOther = scheme.map { $0.allSatisfy { $0.isLetter || $0.isNumber || "+-.".contains($0) } } ?? false
        return isURI || isOther ? nil : value
    }

    private static func uri(_ text: String, _ access: Access, _ element: DescribedElement) -> FileUse? {
        guard let path = path(text, isURI: true) else { return nil }
        return FileUse(
            access: access, path: path, style: .path, user: "the URI", origin: .element(element, property: nil))
    }

    private static func descriptors(_ element: DescribedElement) -> [FileUse] {
        let access: Access
        switch element.factory {
        case "fdsrc": access = .reads
        case "fdsink": access = .writes
        default: return []
        }
        let given = element.property("fd")
        let number = given.map(\.value) ?? (access == .reads ? "0" : "1")
        guard let number, Int32(number) != nil else { return [] }
        return [
            FileUse(
                access: access, path: "/dev/fd/\(number)", style: .path, user: element.label, isDescriptor: true,
                origin: given.map { .property($0) } ?? .element(element, property: "fd"))
        ]
    }

    // MARK: Handlers

    private static func handlers(_ place: HandlerProperty, _ element: DescribedElement) -> [FileUse] {
        guard let name = element.property(place.handler)?.value, let options = element.property(place.options),
            let text = options.value
        else { return [] }
        return handler(name, text, of: place, label: element.label) { .option(options, name: $0) }
    }

    private static func handler(
        _ name: String, _ options: String, of place: HandlerProperty, label: String, origin: (String) -> Origin
    ) -> [FileUse] {
        guard let values = try? HandlerOptions(options, handler: name),
            let entry = HandlerRegistry.shared.handlers(place).first(where: { $0.name == name })
        else { return [] }
        return entry.options.compactMap { option in
            guard option.isInput || option.isOutput, let path = values.text(option.name) else { return nil }
            let standard = option.isInput ? "/dev/fd/0" : "/dev/fd/1"
            return FileUse(
                access: option.isInput ? .reads : .writes, path: path == "-" ? standard : path,
                // The option's example contains a pattern if one name stands for several files.
                style: option.example.contains("%") ? .numbered : .path,
                user: "\(label) \(place.handler)=\(name)", isDescriptor: path == "-", origin: origin(option.name))
        }
    }

    // MARK: Running elements

    /// Returns the files that a running element's properties and options name. With `property`, as if it were set to
    /// `value`.
    package static func all(of element: Element, setting property: String? = nil, to value: String = "") -> [FileUse] {
        guard let factory = element.factoryName.flatMap(ElementFactoryInfo.find) else { return [] }
        func text(_ name: String) -> String? { name == property ? value : try? element.propertyText(name) }
        let stock = factory.properties.compactMap { info -> FileUse? in
            guard info.kind == .string, info.isWritable, let access = access(info.name, factory),
                let path = text(info.name).flatMap({ path($0, isURI: info.name.contains("uri")) }), !path.isEmpty
            else { return nil }
            return FileUse(
                access: access, path: path, style: info.name == "location" ? patterns[factory.name] ?? .path : .path,
                user: element.name, origin: .outside)
        }
        return stock
            + HandlerProperty.all(of: factory.name).flatMap { place in
                handler(text(place.handler) ?? "", text(place.options) ?? "", of: place, label: element.name) { _ in
                    .outside
                }
            }
    }
}

extension DescribedElement {
    /// The factory's name, followed by the element's name if it has one.
    fileprivate var label: String { name.map { "\(factory) \"\($0)\"" } ?? factory }

    /// Whether a URI written in place of an element is read or written; `nil` for an element.
    fileprivate var uriAccess: FileUse.Access? { uriDirection.map { $0 == .sink ? .writes : .reads } }
}
