import ArgumentParser
import Foundation
import GStreamer
import MediaGraph

/// `mediagraph inspect`: shows nodes, handlers and elements.
struct InspectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show nodes, handlers and elements.",
        discussion: """
            Without a name, lists MediaGraph's nodes and, for each of them, the handlers with their options. With a \
            name, shows a node, a handler or any GStreamer element, with its pads, properties, messages and handlers.

            EXAMPLES
              mediagraph inspect
              mediagraph inspect rawdatapipe
              mediagraph inspect counter --json
              mediagraph inspect videotestsrc

            EXIT STATUS
              0    success
              1    the element's plugin can't be loaded
              2    nothing has the name; or a --load library is missing or can't be used
              64   the command line is wrong
            """)

    @Argument(
        help: ArgumentHelp("The name of a node, a handler or an element.", valueName: "name"),
        completion: .shellCommand("mediagraph inspect --names"))
    var name: String?

    @OptionGroup var libraries: HandlerLibraryOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: .hidden)
    var names = false

    func run() throws {
        try libraries.load(report)
        try Nodes.register()
        if names {
            write((Nodes.factoryNames + allHandlers.map(\.name)).joined(separator: "\n"))
            return
        }
        let width = Terminal.textWidth(.standardOutput)
        let text = InspectText(style: Style(for: .standardOutput), width: width)
        guard let name else {
            showOverview(text)
            return
        }
        let handlers = allHandlers.filter { $0.name == name }
        switch ElementFactoryInfo.lookUp(name) {
        case .found(let info): show(ElementRecord(info), handlers, text)
        case .notLoadable where handlers.isEmpty:
            try report.fail(
                "the plugin of \"\(name)\" can't be loaded; set GST_DEBUG=GST_PLUGIN_LOADING:4 to see why",
                with: .failure)
        case .unknown where handlers.isEmpty:
            let known = Nodes.factoryNames + allHandlers.map(\.name) + ElementFactoryInfo.allNames
            let nearest = NearestName.find(name, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
            try report.fail("there is no node, handler or element \"\(name)\"\(nearest)", with: .wrongInput)
        case .unknown, .notLoadable: show(nil, handlers, text)
        }
    }

    private var allHandlers: [HandlerRecord] { HandlerRegistry.Kind.allCases.flatMap(HandlerRecord.all) }

    private func showOverview(_ text: InspectText) {
        let nodes = Nodes.factoryNames.compactMap(ElementFactoryInfo.find).map { info in
            InspectText.Section(
                name: info.name, summary: info.summary,
                handlers: HandlerRegistry.shared.handlers(of: info.name).map(HandlerRecord.init))
        }
        if json { JSONLine.print(["nodes": nodes]) } else { write(text.overview(nodes)) }
    }

    /// Shows an element, handlers, or both if they have the same name.
    private func show(_ element: ElementRecord?, _ handlers: [HandlerRecord], _ text: InspectText) {
        if json {
            if let element { JSONLine.print(element) }
            for handler in handlers { JSONLine.print(handler) }
            return
        }
        write(((element.map { [text.element($0)] } ?? []) + handlers.map(text.handler)).joined(separator: "\n\n"))
    }

    private func write(_ text: String) { StandardStreams.write(text + "\n", to: .standardOutput) }

    private var report: DiagnosticReport { DiagnosticReport(printsJSON: json) }
}
