import MediaGraph
import Synchronization
import Testing
import Vignette

@Suite struct VignetteTests {
    // Registers the handler once, for all tests.
    init() { Self.register }

    private static let register: Void = {
        do { try HandlerRegistry.shared.register(Vignette.self) } catch { Issue.record("\(error)") }
    }()

    /// Returns the brightness of a white picture after the effect, in its corner and its middle.
    private func brightness(_ options: String) async throws -> (corner: UInt8, middle: UInt8) {
        let graph = try Graph(
            """
            videotestsrc pattern=white num-buffers=1 ! video/x-raw,format=I420,width=65,height=33 !
                preprocessor handler=vignette options="${OPTIONS}" ! rawdatapipe name=frames format=I420
            """, variables: ["OPTIONS": options])
        let seen = Mutex<(UInt8, UInt8)?>(nil)
        try graph.rawDataPipe("frames").receive { frame in
            let luma = try frame.plane(.y)
            let (corner, middle) = (luma.row(0)[0], luma.row(16)[32])
            seen.withLock { $0 = (corner, middle) }
        }
        try await graph.run()
        return try #require(seen.withLock { $0 })
    }

    @Test("corners turn dark and the middle keeps its brightness")
    func corners() async throws {
        #expect(try await brightness("strength=1") == (16, 235))
        #expect(try await brightness("strength=0.5") == (16 + 219 / 2, 235))
    }

    @Test("red keeps its hue in the middle and has none in a black corner")
    func colors() async throws {
        let graph = try Graph(
            """
            videotestsrc pattern=red num-buffers=1 ! video/x-raw,format=I420,width=65,height=33 !
                preprocessor handler=vignette options="strength=1" ! rawdatapipe name=frames format=I420
            """)
        let seen = Mutex<[[UInt8]]>([])
        try graph.rawDataPipe("frames").receive { frame in
            let (u, v) = (try frame.plane(.u), try frame.plane(.v))
            seen.withLock { $0 = [[u.row(0)[0], v.row(0)[0]], [u.row(8)[16], v.row(8)[16]]] }
        }
        try await graph.run()
        #expect(seen.withLock { $0 } == [[128, 128], [90, 240]])
    }

    @Test("strength=0 changes nothing")
    func nothing() async throws {
        #expect(try await brightness("strength=0") == (235, 235))
    }

    @Test("invalid options are refused", arguments: ["strength=2", "strength=much", "power=1"])
    func refused(options: String) async {
        await #expect(throws: GraphError.self) { try await brightness(options) }
    }
}
