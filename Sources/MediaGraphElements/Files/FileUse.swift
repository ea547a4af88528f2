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
        /// Outside the description, such as the program's control file, or in a running element.
        case outside

        var isProperty: Bool { if case .property = self { true } else { false } }

        func narrowed(toOption name: String) -> Origin {
            if case .property(let options) = self { .option(options, name: name) } else { self }
        }
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

    /// Returns whether the two uses conflict when they name the same file.
    package func excludes(_ other: FileUse) -> Bool {
        switch (access, other.access) {
        case (.reads, .reads): false
        case (.writes, .writes): !(isDescriptor && other.isDescriptor)
        case (.reads, .writes), (.writes, .reads): true
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
    /// An element that may use files: one of a description, or one that runs.
    private struct Subject {
        let factory: ElementFactoryInfo
        /// What messages call the element.
        let label: String
        /// Returns the text of a property, and where it is set. The text is `nil` if the element has no such property,
        /// or if the description's value contains an undefined variable.
        let property: (String) -> (text: String?, origin: Origin)

        func text(_ name: String) -> String? { property(name).text }
    }

    /// Returns the files named by the properties and options of an element and of the elements nested in its
    /// properties.
    static func all(of element: DescribedElement) -> [FileUse] { ([element] + element.nested).flatMap(own) }

    /// Returns the files of one element, without those of nested elements.
    private static func own(_ element: DescribedElement) -> [FileUse] {
        if let access = element.uriAccess { return [uri(element.factory, access, element)].compactMap(\.self) }
        guard let factory = ElementFactoryInfo.find(element.factory) else { return [] }
        return all(
            of: Subject(factory: factory, label: element.label) { name in
                guard let given = element.properties.last(where: { $0.name.replacing("_", with: "-") == name }) else {
                    return (factory.property(name)?.initialText, .element(element, property: name))
                }
                return (given.value, .property(given))
            })
    }

    /// Returns the files that a running element's properties and options name. With `property`, as if it were set to
    /// `value`.
    package static func all(of element: Element, setting property: String? = nil, to value: String = "") -> [FileUse] {
        guard let factory = element.factoryName.flatMap(ElementFactoryInfo.find) else { return [] }
        return all(
            of: Subject(factory: factory, label: element.name) { name in
                (name == property ? value : try? element.propertyText(name), .outside)
            })
    }

    /// Returns the value that a string property has after it is set to this text: GStreamer removes enclosing double
    /// quotes.
    package static func unquoted(_ text: String) -> String {
        PropertyText.unwrapped(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private static func all(of subject: Subject) -> [FileUse] {
        descriptors(subject) + stock(subject) + joined(subject)
            + HandlerProperty.all(of: subject.factory.name).flatMap { handler(subject, $0) }
    }

    // MARK: Stock elements

    /// Properties whose files are read or written, according to the property's name.
    private static let read: Set = ["broken-input", "recovery-input", "source-uri", "suburi", "template", "uri"]
    private static let written: Set = [
        "dest-uri", "faststart-file", "fixed-output", "init-location", "moov-recovery-file", "playlist-location",
    ]
    private static let patterns: [String: FileName.Style] = [
        "hlscmafsink": .numbered, "hlssink": .numbered, "hlssink2": .numbered, "hlssink3": .numbered,
        "imagesequencesrc": .numbered, "multifilesink": .numbered, "multifilesrc": .numbered,
        "splitmuxsink": .numbered, "splitfilesrc": .wildcard, "splitmuxsrc": .wildcard,
    ]

    private static func stock(_ subject: Subject) -> [FileUse] {
        let factory = subject.factory
        guard factory.name != "curlfilesink" else { return [] }
        let isNetwork = factory.classification.contains("Network")
        return fileProperties(of: factory).compactMap { info in
            guard let access = info.name == "multipass-cache-file" ? passFile(subject) : access(info.name, factory)
            else { return nil }
            let (text, origin) = subject.property(info.name)
            guard let path = text.flatMap({ path($0, isURI: info.name.contains("uri") || isNetwork) }),
                !path.isEmpty || origin.isProperty && factory.name.hasPrefix("files")
            else { return nil }
            return FileUse(
                access: access, path: path, style: info.name == "location" ? patterns[factory.name] ?? .path : .path,
                user: subject.label, origin: origin)
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

    private static func joined(_ subject: Subject) -> [FileUse] {
        guard let (folder, name) = joinedProperties[subject.factory.name] else { return [] }
        let (file, origin) = subject.property(name)
        guard let file, !file.isEmpty,
            let folder = path(subject.text(folder) ?? "", isURI: subject.factory.name == "curlfilesink")
        else { return [] }
        return [
            FileUse(
                access: .writes, path: folder.isEmpty || folder.hasSuffix("/") ? folder + file : "\(folder)/\(file)",
                style: .path, user: subject.label, origin: origin)
        ]
    }

    /// Returns the access to a multi-pass encoder's statistics file, which the first pass writes and the later passes
    /// read.
    private static func passFile(_ subject: Subject) -> Access? {
        switch subject.text("multipass-mode") ?? subject.text("pass") {
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

    private static func descriptors(_ subject: Subject) -> [FileUse] {
        let access: Access
        switch subject.factory.name {
        case "fdsrc": access = .reads
        case "fdsink": access = .writes
        default: return []
        }
        let (number, origin) = subject.property("fd")
        guard let number, Int32(number) != nil else { return [] }
        return [
            FileUse(
                access: access, path: "/dev/fd/\(number)", style: .path, user: subject.label, isDescriptor: true,
                origin: origin)
        ]
    }

    // MARK: Handlers

    private static func handler(_ subject: Subject, _ place: HandlerProperty) -> [FileUse] {
        let (options, origin) = subject.property(place.options)
        guard let name = subject.text(place.handler), let options,
            let values = try? HandlerOptions(options, handler: name),
            let entry = HandlerRegistry.shared.handlers(place).first(where: { $0.name == name })
        else { return [] }
        return entry.options.compactMap { option in
            guard option.isInput || option.isOutput, let path = values.text(option.name) else { return nil }
            let standard = option.isInput ? "/dev/fd/0" : "/dev/fd/1"
            return FileUse(
                access: option.isInput ? .reads : .writes, path: path == "-" ? standard : path,
                // The option's example contains a pattern if one name stands for several files.
                style: option.example.contains("%") ? .numbered : .path,
                user: "\(subject.label) \(place.handler)=\(name)", isDescriptor: path == "-",
                origin: origin.narrowed(toOption: option.name))
        }
    }
}

extension PropertyInfo {
    /// The default as plain text, without the quotes of `defaultText`.
    fileprivate var initialText: String? {
        defaultText.flatMap { PropertyText.unwrapped(Array($0.utf8)).map { String(decoding: $0, as: UTF8.self) } }
    }
}

extension DescribedElement {
    /// The factory's name, followed by the element's name if it has one.
    fileprivate var label: String { name.map { "\(factory) \"\($0)\"" } ?? factory }

    /// Whether a URI written in place of an element is read or written; `nil` for an element.
    fileprivate var uriAccess: FileUse.Access? { uriDirection.map { $0 == .sink ? .writes : .reads } }
}
