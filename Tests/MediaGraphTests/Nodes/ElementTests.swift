import CGStreamer
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests what each node does as a GStreamer element: properties, events, documentation, caps.
@Suite struct ElementTests {
    init() throws { try Nodes.register() }

    @Test("EL-1 setting a property that is locked while running fails with a warning and an error")
    func locked() throws {
        let pipeline = try Pipeline(parsing: "videotestsrc ! rawdatapipe name=pipe resolution=360p")
        let warnings = Log<String>()
        pipeline.onMessage { if case .warning(let report) = $0.kind { warnings.add(report.error.message) } }
        let pipe = try #require(pipeline.element(named: "pipe"))
        pipeline.setState(.paused)
        #expect(
            throws: PropertyError.refused(
                element: "rawdatapipe", property: "resolution",
                reason: "it is locked while the element is running; set it in NULL or READY")
        ) { try pipe.setProperty("resolution", parsing: "720p") }
        #expect(try pipe.property("resolution", as: Resolution.self) == .p360)
        #expect(
            warnings.all == [
                "resolution keeps its value: it is locked while the element is running; set it in NULL or READY"
            ])
        pipeline.setState(.null)
        try pipe.setProperty("resolution", parsing: "720p")
        #expect(try pipe.property("resolution", as: Resolution.self) == .p720)
    }

    @Test("EL-1 setting a property out of its range fails with a warning and an error")
    func outOfRange() throws {
        let pipeline = try Pipeline(parsing: "videotestsrc ! rawdatapipe name=pipe max-frames=7")
        let warnings = Log<String>()
        pipeline.onMessage { if case .warning(let report) = $0.kind { warnings.add(report.error.message) } }
        let pipe = try #require(pipeline.element(named: "pipe"))
        for value: Int32 in [0, 1001, -5] {
            #expect(throws: PropertyError.self) { try pipe.setProperty("max-frames", to: value) }
        }
        #expect(try pipe.property("max-frames", as: Int32.self) == 7)
        #expect(warnings.all.first == "max-frames keeps its value: 0 is outside 1…1000")
        #expect(throws: PropertyError.noSuchProperty(element: "rawdatapipe", property: "nosuch")) {
            try pipe.setProperty("nosuch", to: true)
        }
        #expect(throws: PropertyError.notWritable(element: "rawdatapipe", property: "stats")) {
            try pipe.setProperty("stats", parsing: "x")
        }
        #expect(throws: PropertyError.self) { try pipe.setProperty("resolution", parsing: "auto") }
    }

    @Test("EL-2 EOS, GAP, FLUSH, SEGMENT and caps changes pass the preprocessor in order")
    func preprocessorEvents() throws {
        let harness = Harness(try #require(Element(factory: "preprocessor")), sink: "sink", source: "src")
        harness.pushStreamWithEveryEvent()
        #expect(
            harness.pulledEvents() == [
                "stream-start", "caps", "segment", "caps", "segment", "gap", "flush-start", "flush-stop", "segment",
                "eos",
            ])
    }

    @Test("EL-2 a videosource sends STREAM_START, CAPS, SEGMENT and its status, and EOS only at the end")
    func sourceEvents() throws {
        let element = try #require(Element(factory: "videosource"))
        try element.setProperty("handler", to: "counter")
        try element.setProperty("options", to: "frames=2,width=16,height=16")
        try element.setProperty("pace", parsing: "fast")
        let harness = Harness(element, sink: nil, source: "src")
        harness.play()
        var numbers = 0
        while numbers < 2, harness.pull() != nil { numbers += 1 }
        #expect(numbers == 2)
        var events: [String] = []
        #expect(
            waitUntil {
                events += harness.pulledEvents(); return events.contains("eos")
            })
        #expect(
            events.filter { $0 != "latency" } == [
                // The status needs a SEGMENT before it, and the base class sends another one with the first buffer.
                "stream-start", "caps", "segment", "custom-downstream-sticky", "segment", "custom-downstream-sticky",
                "eos",
            ], "\(events)")
    }

    @Test(
        "EL-4 gst-inspect-1.0 shows documentation for each property, pad and message",
        .disabled(if: Sanitizer.isAny, Sanitizer.stockPrograms),
        arguments: Nodes.factoryNames)
    func documented(factory: String) throws {
        let declaration = try #require(Nodes.all.map { $0.declaration }.first { $0.factoryName == factory })
        let child = try ChildProcess.run(
            "gst-inspect-1.0", ["--gst-plugin-path=\(ChildProcess.buildFolder.path)", factory],
            environment: ["GST_REGISTRY": ChildProcess.buildFolder.appendingPathComponent("test-registry.bin").path])
        #expect(child.status == 0, "\(child.errors)")
        for property in declaration.properties {
            // A long name fills the column.
            let column = property.name + String(repeating: " ", count: max(0, 20 - property.name.count)) + ":"
            let line = child.output.split(separator: "\n").first { $0.drop { $0 == " " }.hasPrefix(column) }
            let blurb = line.map { $0[$0.index(after: $0.firstIndex(of: ":")!)...] } ?? ""
            #expect(blurb.count > 15, "\(property.name): \(blurb)")
        }
        for message in declaration.messages {
            #expect(child.output.contains("Message-\(message.name)"))
            for field in message.fields {
                #expect(child.output.contains("\(field.name) (\(field.type)): \(field.meaning)"))
            }
        }
        for template in declaration.padTemplates { #expect(child.output.contains("template: '\(template.name)'")) }
    }

    @Test(
        "EL-4 each node has a debug category and logs its decisions there",
        .disabled(if: Sanitizer.isAny, Sanitizer.stockPrograms))
    func debugCategories() throws {
        let child = try ChildProcess.run(
            "gst-launch-1.0",
            [
                "--gst-plugin-path=\(ChildProcess.buildFolder.path)", "videosource", "handler=counter", "pace=fast",
                "options=frames=2,width=32,height=32", "!", "preprocessor", "handler=invert", "!", "rawdatapipe",
                "handler=count",
            ],
            environment: [
                "GST_DEBUG": "videosource:6,preprocessor:6,rawdatapipe:6", "GST_DEBUG_NO_COLOR": "1",
                "GST_REGISTRY": ChildProcess.buildFolder.appendingPathComponent("test-registry-2.bin").path,
                "G_DEBUG": "fatal_warnings",
            ])
        #expect(child.status == 0, "\(child.errors)")
        #expect(child.errors.contains("handler counter: 1 capabilities, suggested 32×32@30/1"), "\(child.errors)")
        #expect(child.errors.contains("runs handler invert"))
        #expect(child.errors.contains("handler count, format I420, native"))
    }

    @Test(
        "EL-4 gst-launch-1.0 ends with an error that names a refused value and the reason",
        .disabled(if: Sanitizer.isAny, Sanitizer.stockPrograms))
    func refusedValue() throws {
        let child = try ChildProcess.run(
            "gst-launch-1.0",
            [
                "--gst-plugin-path=\(ChildProcess.buildFolder.path)", "videotestsrc", "num-buffers=1", "!",
                "rawdatapipe",
                "resolution=auto",
            ],
            environment: [
                "GST_REGISTRY": ChildProcess.buildFolder.appendingPathComponent("test-registry-2.bin").path,
                "G_DEBUG": "fatal_warnings",
            ])
        #expect(child.status != 0)
        #expect(child.errors.contains("resolution=auto was refused: expected native, 90p"), "\(child.errors)")
    }

    @Test("EL-4 an element that refused a value doesn't start until the property gets a valid one")
    func refusedValueReplaced() throws {
        let pipeline = try Pipeline(parsing: "videotestsrc ! rawdatapipe name=pipe resolution=auto")
        #expect(pipeline.setState(.ready) == .failure)
        _ = pipeline.setState(.null)
        let pipe = try #require(pipeline.element(named: "pipe"))
        try pipe.setProperty("resolution", to: "480p")
        #expect(pipeline.setState(.ready) == .success)
        _ = pipeline.setState(.null)
        // A caller that gets the error can handle it, so the element still starts.
        let element = try #require(Element(factory: "rawdatapipe"))
        #expect(throws: PropertyError.self) { try element.setProperty("resolution", to: "auto") }
        #expect(element.setState(.ready) == .success)
        _ = element.setState(.null)
    }

    @Test("EL-4 the graph's DOT text contains the nodes")
    func dot() async throws {
        let graph = try Graph("videosource name=camera ! preprocessor ! rawdatapipe name=frames")
        #expect(graph.dotGraph.contains("camera") && graph.dotGraph.contains("GstRawDataPipe"))
    }

    @Test("EL-6 buffers with one field each are refused with an error that says so")
    func alternateFields() throws {
        let pipeline = try Pipeline(
            parsing: """
                appsrc name=src caps="video/x-raw(format:Interlaced),format=I420,width=16,height=16,framerate=30/1,\
                interlace-mode=alternate" ! preprocessor handler=invert ! fakesink
                """)
        let errors = Log<String>()
        pipeline.onMessage { if case .error(let report) = $0.kind { errors.add(report.debug) } }
        pipeline.setState(.playing)
        let source = try #require(pipeline.element(named: "src").flatMap(AppSource.init(wrapping:)))
        _ = source.push(Buffer([UInt8](repeating: 1, count: 192)))
        #expect(waitUntil { !errors.all.isEmpty })
        #expect(errors.all.first?.contains("progressive or interleaved") == true, "\(errors.all)")
        pipeline.setState(.null)
    }

    @Test(
        "EL-3 DMABuf caps pass a node that touches no bytes, and are otherwise an error with both sides",
        arguments: [
            ("preprocessor", "invert", "the handler accepts"), ("frameobserver", "count", "the observer can be shown"),
        ])
    func capsFeatures(node: String, handler: String, taken: String) throws {
        let caps = "video/x-raw(memory:DMABuf),format=NV12,width=16,height=4,framerate=30/1"
        let without = Harness(try #require(Element(factory: node)), sink: "sink", source: "src")
        without.setSourceCaps(caps)
        #expect(without.push([UInt8](repeating: 1, count: 96)) == .ok)

        let pipeline = try Pipeline(parsing: "appsrc name=src caps=\"\(caps)\" ! \(node) handler=\(handler) ! fakesink")
        let errors = Log<String>()
        pipeline.onMessage { if case .error(let report) = $0.kind { errors.add("\(report.error) \(report.debug)") } }
        pipeline.setState(.playing)
        let source = try #require(pipeline.element(named: "src").flatMap(AppSource.init(wrapping:)))
        source.push(Buffer([UInt8](repeating: 1, count: 96)))
        #expect(waitUntil { !errors.all.isEmpty })
        let text = errors.all.first ?? ""
        #expect(text.contains("memory:DMABuf") && text.contains(taken), "\(errors.all)")
        pipeline.setState(.null)
    }

    @Test(
        "EL-6 a stream in bytes format has no running time and causes no critical warning",
        arguments: [
            "preprocessor handler=invert ! fakesink", "frameobserver handler=count ! fakesink",
            "rawdatapipe handler=count",
        ])
    func bytes(node: String) throws {
        let program = ChildProcess.buildFolder.appendingPathComponent("mediagraph").path
        let caps = "video/x-raw,format=I420,width=16,height=4,framerate=30/1"
        let ran = try ChildProcess.run(
            program, ["run", "filesrc location=/dev/zero blocksize=96 num-buffers=3 ! \(caps) ! \(node)"],
            environment: ["G_DEBUG": "fatal_criticals"])
        #expect(ran.status == 0 && !ran.errors.contains("CRITICAL"), "\(ran.status) \(ran.errors)")
    }

    @Test(
        "EL-2 with qos=true a frame that the base class drops counts only as dropped",
        arguments: ["preprocessor", "frameobserver"])
    func qualityOfService(factory: String) throws {
        let element = try #require(Element(factory: factory))
        try element.setProperty("qos", to: true)
        let harness = ObserverHarness.make(element, .i420, 16, 4)
        let bytes = [UInt8](repeating: 9, count: 96)
        harness.push(bytes)
        gst_element_send_event(
            element.element, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1, 1_000_000_000, 1_000_000_000))
        harness.push(bytes, at: .milliseconds(33))
        #expect(NodeCounts(element)?.frames == 1)
        #expect(NodeCounts(element)?.dropped == 1)
    }

    /// A class with a new name in each round.
    private final class NewSource: PushSource, @unchecked Sendable {
        // `@unchecked Sendable`: the class has no state.
        static let round = Atomic<Int>(0)

        override class var declaration: ElementDeclaration {
            let name = "NewSource\(round.load(ordering: .relaxed))"
            return ElementDeclaration(
                factoryName: name, typeName: "Gst\(name)", longName: name, classification: name, summary: name,
                author: name,
                padTemplates: [PadTemplate("src", .source, caps: "ANY")], abiVersion: 1)
        }
    }

    @Test("EL-1 threads that create the first element of a class at the same time all get one")
    func firstOfItsClass() {
        GStreamerRuntime.initialize()
        for round in 1...200 {
            NewSource.round.store(round, ordering: .relaxed)
            let made = Log<Bool>()
            let isOpen = BlockingMonitor(false)
            let threads = (0..<4).map { _ in
                NativeThread("makes") {
                    _ = isOpen.wait { $0 ? true : nil }
                    made.add((try? ElementClass.make(NewSource.self)) != nil)
                }
            }
            isOpen.withLock { $0 = true }
            for thread in threads { thread.join() }
            #expect(made.all == [true, true, true, true])
        }
    }
}
