import ArgumentParser
import Foundation
import GStreamer
import MediaGraph

/// `mediagraph graph`: draws a description.
struct GraphCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "graph",
        abstract: "Draw a description.",
        discussion: """
            The drawing has a box for each element, with the properties that the description sets and the pads that it \
            names; an arrow for each link, with its caps; and a frame around the sessions of a room. A legend explains \
            the colors. A long chain is drawn in rows: follow the arrows.

            --details uses GStreamer's own drawing instead, with every pad and property. To draw a graph while it \
            runs, set GST_DEBUG_DUMP_DOT_DIR for mediagraph run.

            \(DescriptionHelp.words)

            Files ending in .svg, .png or .pdf are drawn by dot (package graphviz). Files ending in .dot need no other \
            program.

            EXAMPLES
              mediagraph graph call.pipeline -o call.svg
              mediagraph graph videotestsrc ! videoconvert ! fakesink -o x.png
              mediagraph graph call.pipeline | dot -Tx11

            EXIT STATUS
              0    the description was drawn
              1    the description can't be drawn, or the file can't be written
              2    the description is wrong; or the description or a --load library is
                   missing or can't be used
              64   the command line is wrong
            """)

    @Argument(
        help: ArgumentHelp(
            "A description or its file, and values for its variables.", valueName: "file|description|NAME=value"),
        completion: .file(extensions: ["pipeline"]))
    var words: [String] = []

    @OptionGroup var libraries: HandlerLibraryOptions

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Write the drawing to this .svg, .png, .pdf or .dot file; - writes dot text to standard output.",
            valueName: "file"),
        completion: .file(extensions: ["svg", "png", "pdf", "dot"]))
    var output = "-"

    @Flag(help: "Use GStreamer's own drawing, with all pads and properties.")
    var details = false

    private static let textFormats = ["dot", "gv"]

    private var format: String { (output as NSString).pathExtension.lowercased() }

    private static func isPicture(_ name: String) -> Bool {
        (textFormats + Graphviz.formats).contains((name as NSString).pathExtension.lowercased())
    }

    func validate() throws {
        let rest = CommandWords(words).rest
        if rest.count > 1, let last = rest.last, DescriptionInput.looksLikeFile(last), Self.isPicture(last) {
            throw ValidationError("the picture's file must follow -o: write -o \(last)")
        }
        _ = try input()
        guard output != "-", !Self.isPicture(output) else { return }
        throw ValidationError("\"\(output)\" should end in .svg, .png, .pdf or .dot")
    }

    func run() throws {
        try libraries.load()
        let description = try input().loadOrExit()
        if case .file(let path) = try input(), let file = FileName(path), FileName(output)?.overlaps(file) == true {
            try DiagnosticReport().fail(
                "\"\(output)\" is the description itself: draw to another file", with: .wrongInput)
        }
        let text = try picture(description)
        if output == "-" {
            StandardStreams.write(text, to: .standardOutput)
            return
        }
        do {
            var picture = Data(text.utf8)
            if !Self.textFormats.contains(format) {
                // The text of an .svg file is drawn by its viewer, with the viewer's fonts.
                if format != "svg", !TextRenderer.hasFonts {
                    DiagnosticReport().warning("\(FontCheck.message); \(FontCheck.remedy)")
                }
                picture = try Graphviz.draw(text, format: format)
            }
            let file = URL(fileURLWithPath: output).resolvingSymlinksInPath()
            let type = try? FileManager.default.attributesOfItem(atPath: file.path)[.type] as? FileAttributeType
            // Atomic, so that an existing picture survives a full disk. A FIFO or device can't be replaced, only
            // written to.
            try picture.write(to: file, options: type == nil || type == .typeRegular ? .atomic : [])
        } catch let problem as Graphviz.Problem {
            try DiagnosticReport().fail("\(problem)", with: .failure)
        } catch {
            try DiagnosticReport().fail("\"\(output)\" can't be written: \(Self.reason(error, output))", with: .failure)
        }
    }

    /// Returns why a file can't be written. For a missing folder, Foundation's own text says only that "the operation
    /// could not be completed".
    private static func reason(_ error: any Error, _ path: String) -> String {
        let folder = (path as NSString).deletingLastPathComponent
        guard !folder.isEmpty, !FileManager.default.fileExists(atPath: folder) else {
            return error.localizedDescription
        }
        return "there is no folder \"\(folder)\"; make it with `mkdir -p \(folder)`"
    }

    private func input() throws -> DescriptionInput { try .single(validating: words) }

    private func picture(_ description: Description) throws -> String {
        let report = DiagnosticReport()
        let outputs = output == "-" ? [] : [FileUse(.writes, output, by: "--output")]
        for text in DiagnosticReport.variableWarnings(CommandWords(words), of: [description]) { report.warning(text) }
        // The parser asks the nodes which pads are named after users.
        try Nodes.register()
        let resolved = description.resolved(with: CommandWords(words).variables)
        do {
            let found = try TimeLimit.wait {
                try Graph.diagnose(resolved, isComplete: false, besides: outputs)
            }
            report.print(found)
            guard found.allSatisfy({ $0.severity != .error }) else {
                report.printCount(found)
                throw ExitStatus.wrongInput.exitCode
            }
            if details { return try TimeLimit.wait { try Graph(checked: resolved).dotGraph } }
            return DotPicture(
                outline: resolved.outline, title: description.title, ownFactories: Set(Nodes.factoryNames)
            ).text
        } catch let error as MediaGraphError {
            try report.fail("\(error)", with: .failure)
        } catch let error as GraphError {
            try report.fail("\(error)", with: .wrongInput)
        }
    }
}
