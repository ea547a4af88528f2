import GStreamer
import MediaGraph
import MediaGraphTesting
import TestSupport
import Testing

/// Tests an `alphachannel` that is off, or turned off while frames flow, and the nodes behind it.
@Suite struct AlphaChannelOffTests {
    init() throws { try Nodes.register() }

    private static let source = "videosource handler=counter pace=fast options=\"frames=20,width=64,height=48\""

    @Test("AL-1 `enabled` becomes false without permission, and doesn't come back by itself")
    func enabledIsTrue() throws {
        let element = try #require(Element(factory: "alphachannel"))
        func enabled() throws -> Bool { try element.property("enabled", as: Bool.self) }
        try element.setProperty("enabled", to: true)
        #expect(try enabled())
        try element.setProperty("permitted", to: false)
        #expect(try !enabled())
        let error = #expect(throws: PropertyError.self) { try element.setProperty("enabled", to: true) }
        #expect("\(error!)".contains("isn't permitted"), "\(error!)")
        #expect(try !enabled())
        try element.setProperty("permitted", to: true)
        #expect(try !enabled())
    }

    @Test(
        "AL-2 a pipe with format=A420 has alpha while it is on, and unconverted I420 while it is off",
        arguments: ["format=A420", "format=A420 resolution=90p"])
    func alphaPipe(properties: String) async throws {
        let graph = try Graph("\(Self.source) ! alphachannel name=a enabled=true ! rawdatapipe name=p \(properties)")
        let alpha = try graph.element("a")
        let seen = Log<String>()
        try graph.rawDataPipe("p").receive { frame in
            seen.add("\(frame.format) \(frame.alpha?.byteCount ?? -1)")
            if seen.all.count == 10 { try alpha.setProperty("enabled", to: false) }
        }
        try await graph.run()
        #expect(seen.all == (0..<20).map { $0 < 10 ? "a420 \(64 * 48)" : "i420 -1" })
    }

    @Test("RP-6 a handler that only takes A420 gets a stream without alpha as opaque A420")
    func onlyA420() async throws {
        struct Reader: VideoConsumer {
            static let formats: [VideoFormat] = [.a420]
            let alphas: Log<UInt8>
            func receive(_ frame: borrowing VideoFrame) throws { alphas.add(try frame.plane(.alpha).bytes[5]) }
        }
        let graph = try Graph("\(Self.source) ! rawdatapipe name=p")
        let alphas = Log<UInt8>()
        try graph.rawDataPipe("p").attach(Reader(alphas: alphas))
        try await graph.run()
        #expect(alphas.all == [UInt8](repeating: 255, count: 20))
    }

    @Test("AL-2 a background handler fills frames while alpha is on, and passes them unchanged while off")
    func background() async throws {
        let graph = try Graph(
            """
            \(Self.source) ! alphachannel name=a ! tee name=t
            t. ! rawdatapipe name=before format=A420
            t. ! preprocessor handler=background options="color=00ff00" ! rawdatapipe name=p format=A420
            """)
        let alpha = try graph.element("a")
        let before = Log<[UInt8]>()
        let after = Log<(VideoFormat, [UInt8])>()
        try graph.rawDataPipe("before").receive { before.add($0.packedBytes) }
        try graph.rawDataPipe("p").receive { frame in
            after.add((frame.format, frame.packedBytes))
            if after.all.count % 5 == 0 { try alpha.setProperty("enabled", to: after.all.count == 5) }
        }
        try await graph.run()
        #expect(after.all.map(\.0) == (0..<20).map { (5..<10).contains($0) ? .a420 : .i420 })
        for (index, frame) in after.all.enumerated() where frame.0 == .i420 { #expect(frame.1 == before.all[index]) }
    }
}
