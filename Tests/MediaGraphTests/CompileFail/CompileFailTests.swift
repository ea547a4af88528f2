import Foundation
import TestSupport
import Testing

/// Tests that misuse of the API doesn't compile, by running the compiler on clients' source code.
@Suite struct CompileFailTests {
    /// Compiles `body` as a client that needs no special flag. Returns the compiler's exit status and messages.
    private func diagnostics(
        _ body: String, imports: [String] = ["GStreamer", "MediaGraph", "Synchronization"], inPackage: Bool = false
    ) throws -> (status: Int32, errors: String) {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mg-compile-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("Client.swift")
        let source = imports.map { "import \($0)\n" }.joined() + "\n\(body)\n"
        try source.write(to: file, atomically: true, encoding: .utf8)
        let flags = try ChildProcess.run("pkg-config", ["--cflags", "gstreamer-video-1.0", "gio-unix-2.0"])
        let build = ChildProcess.buildFolder
        // The compiler checks lifetimes and ownership after the types, when it emits SIL.
        var arguments = [
            "-emit-sil", "-o", "/dev/null", "-swift-version", "6", "-I", build.appendingPathComponent("Modules").path,
        ]
        for module in ["CGIO", "CGStreamer", "CGStreamerRTP", "CGStreamerSDP", "CMediaGraphABI", "CX11"] {
            let map = root.appendingPathComponent("Sources/\(module)/module.modulemap").path
            arguments += ["-Xcc", "-fmodule-map-file=\(map)"]
        }
        arguments += ["-Xcc", "-fmodule-map-file=\(build.path)/CGStreamerShims.build/module.modulemap"]
        for flag in flags.output.split(whereSeparator: \.isWhitespace) where flag.hasPrefix("-I") {
            arguments += ["-Xcc", String(flag)]
        }
        if inPackage { arguments += ["-package-name", Self.packageName(inFolder: root.lastPathComponent)] }
        // The compiler leaves folders behind in its temporary directory.
        let child = try ChildProcess.run(
            "swiftc", arguments + [file.path], environment: ["TMPDIR": folder.path])
        return (child.status, child.errors)
    }

    /// Returns the name that SwiftPM gives the compiler for a package without a repository: its folder's, as a C
    /// identifier.
    private static func packageName(inFolder folder: String) -> String {
        let name = folder.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
        return String(name.first?.isNumber == true ? ["_"] + name.dropFirst() : name)
    }

    @Test("RP-7 a client that uses frames within the call compiles, so the failing cases mean something")
    func control() throws {
        let (status, errors) = try diagnostics(
            """
            final class Delegate: RawDataDelegate {
                func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
                    let kept = try frame.retain()
                    Task { print(pipe.name, kept.width) }
                }
            }
            func attach(_ graph: Graph) throws {
                try graph.rawDataPipe("p").receive { frame in
                    print(frame.width, try frame.plane(.y).row(0)[0])
                    let kept: OwnedVideoFrame = try frame.retain()
                    Task { print(kept.width) }
                }
                try graph.preprocessor("q").process { frame in
                    var luma = try frame.mutablePlane(.y)
                    luma.fill(rows: 0..<2, with: 0)
                    try frame.withMutablePlanes(.y, .u, .v) { y, u, v in
                        var row = y.row(0)
                        var chroma = v.row(0)
                        row[0] = u.row(0)[0]
                        chroma[0] = row[0]
                    }
                    return .pass
                }
            }
            """)
        #expect(status == 0, "\(errors)")
    }

    @Test(
        "RP-7 a borrowed frame can't be stored, swapped out, returned or sent to another thread",
        arguments: [
            (
                "stored in a global",
                """
                nonisolated(unsafe) var saved: VideoFrame? = nil
                func attach(_ graph: Graph) throws {
                    try graph.preprocessor("q").process { frame in
                        saved = consume frame
                        return .pass
                    }
                }
                """,
                "missing reinitialization of inout parameter 'frame' after consume"
            ),
            (
                "swapped out of an inout frame",
                """
                func attach(_ graph: Graph) throws {
                    try graph.preprocessor("q").process { frame in
                        var saved: VideoFrame? = nil
                        swap(&frame, &saved!)
                        return .pass
                    }
                }
                """,
                "requires that 'VideoFrame' conform to 'Escapable'"
            ),
            (
                "captured by a closure that escapes",
                """
                func attach(_ graph: Graph, _ keep: @escaping @Sendable (@escaping () -> Void) -> Void) throws {
                    try graph.preprocessor("q").process { frame in
                        keep { print(frame.width) }
                        return .pass
                    }
                }
                """,
                "escaping closure captures 'inout' parameter 'frame'"
            ),
            (
                "a plane that outlives its frame's call",
                """
                func attach(_ graph: Graph) throws {
                    let log = Mutex<[Int]>([])
                    try graph.rawDataPipe("p").receive { frame in
                        let plane = try frame.plane(.y)
                        Task { print(plane.width) }
                        log.withLock { $0.append(plane.width) }
                    }
                }
                """,
                "escap"
            ),
            (
                "copied",
                """
                func attach(_ graph: Graph) throws {
                    try graph.rawDataPipe("p").receive { frame in
                        let copy = frame
                        print(copy.width)
                    }
                }
                """,
                "cannot be consumed"
            ),
            (
                "captured by a delegate's task",
                """
                final class Delegate: RawDataDelegate {
                    func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) {
                        Task { print(frame.width) }
                    }
                }
                """,
                "escap"
            ),
            (
                "an access unit's bytes that outlive the call",
                """
                func attach(_ graph: Graph) throws {
                    try graph.rawDataPipe("p").receiveEncoded { unit in
                        let bytes = unit.bytes
                        Task { print(bytes.count) }
                    }
                }
                """,
                "escap"
            ),
            (
                "planes that are edited together and kept for later",
                """
                func attach(_ graph: Graph) throws {
                    try graph.preprocessor("q").process { frame in
                        try frame.withMutablePlanes(.y, .uv) { luma, chroma in
                            Task { luma.fill(rows: 0..<2, with: 0) }
                        }
                        return .pass
                    }
                }
                """,
                "escaping closure captures 'inout' parameter 'luma'"
            ),
            (
                "a plane that is returned by the closure that edits it",
                """
                func attach(_ graph: Graph) throws {
                    try graph.preprocessor("q").process { frame in
                        let luma: MutableVideoPlane = try frame.withMutablePlanes(.y, .uv) { luma, _ in luma }
                        print(luma.width)
                        return .pass
                    }
                }
                """,
                "Escapable"
            ),
            (
                "planes that are swapped",
                """
                func attach(_ graph: Graph) throws {
                    try graph.preprocessor("q").process { frame in
                        var saved: MutableVideoPlane? = nil
                        try frame.withMutablePlanes(.y, .uv) { luma, _ in swap(&luma, &saved!) }
                        return .pass
                    }
                }
                """,
                "conform to 'Escapable'"
            ),
            (
                "written to by a reader",
                """
                func attach(_ graph: Graph) throws {
                    try graph.rawDataPipe("p").receive { frame in
                        var luma = try frame.mutablePlane(.y)
                        luma.fill(rows: 0..<2, with: 0)
                    }
                }
                """,
                "immutable"
            ),
        ])
    func refused(what: String, body: String, diagnostic: String) throws {
        let (status, errors) = try diagnostics(body)
        #expect(status != 0, "\(what) compiled")
        #expect(errors.contains(diagnostic), "\(what): \(errors)")
    }

    @Test("SP-4 a client that edits audio within the call compiles, so the failing cases mean something")
    func audioControl() throws {
        let (status, errors) = try diagnostics(
            """
            struct Halve: AudioProcessor {
                mutating func process(_ frame: inout AudioFrame) throws -> Verdict {
                    var samples = frame.mutableSamples
                    for index in samples.indices { samples[index] /= 2 }
                    let kept = try frame.retain()
                    Task { print(kept.frameCount) }
                    return .pass
                }
            }
            """)
        #expect(status == 0, "\(errors)")
    }

    @Test(
        "SP-4 borrowed audio can't be stored, swapped out or sent to another thread",
        arguments: [
            (
                "nonisolated(unsafe) var saved: AudioFrame? = nil", "saved = consume frame",
                "missing reinitialization of inout parameter 'frame' after consume"
            ),
            ("", "var saved: AudioFrame? = nil; swap(&frame, &saved!)", "'AudioFrame' conform to 'Escapable'"),
            ("", "Task { print(frame.sampleRate) }", "escaping closure captures 'inout' parameter 'frame'"),
            ("", "let samples = frame.samples; Task { print(samples.count) }", "escap"),
        ])
    func audioRefused(global: String, body: String, diagnostic: String) throws {
        let (status, errors) = try diagnostics(
            """
            \(global)
            struct Keeper: AudioProcessor {
                mutating func process(_ frame: inout AudioFrame) throws -> Verdict {
                    \(body)
                    return .pass
                }
            }
            """)
        #expect(status != 0, "\(body) compiled")
        #expect(errors.contains(diagnostic), "\(body): \(errors)")
    }

    @Test("SP-5 a speaker's callbacks can't edit the sound that they get")
    func speakerReadsOnly() throws {
        func diagnose(_ samples: String) throws -> (status: Int32, errors: String) {
            try diagnostics(
                """
                struct Speaker: VirtualSpeaker {
                    mutating func mixedAudioReceived(_ frame: borrowing AudioFrame) throws { \(samples) }
                    mutating func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) throws { \(samples) }
                    mutating func sharedAudioReceived(_ frame: borrowing AudioFrame) throws { \(samples) }
                }
                """)
        }
        #expect(try diagnose("let samples = frame.samples; print(samples[0])").status == 0)
        let (status, errors) = try diagnose("var samples = frame.mutableSamples; samples[0] = 0")
        #expect(status != 0 && errors.contains("immutable"), "\(errors)")
    }

    @Test(
        "VS-10 async code can't call a sender's blocking functions",
        arguments: [
            ("try sender.send([UInt8](), FrameDescription(width: 2, height: 2))", "not marked with 'await'"),
            ("_ = sender.wait(until: .zero)", "unavailable from asynchronous contexts"),
        ])
    func noasync(call: String, diagnostic: String) throws {
        let (status, errors) = try diagnostics("func pump(_ sender: VideoSender) async throws { \(call) }")
        #expect(status != 0)
        #expect(errors.contains(diagnostic), "\(errors)")
    }

    @Test("RP-1 async code awaits the end of a running callback when it unsubscribes")
    func asyncUnsubscribe() throws {
        func diagnose(_ call: String) throws -> (status: Int32, errors: String) {
            try diagnostics(
                """
                func stop(_ pipe: RawDataPipeNode, _ delegate: some RawDataDelegate) async throws { \(call) }
                func stopOnThread(_ pipe: RawDataPipeNode, _ delegate: some RawDataDelegate) throws {
                    try pipe.unsubscribe(delegate)
                }
                """)
        }
        #expect(try diagnose("try await pipe.unsubscribe(delegate)").status == 0)
        let (status, errors) = try diagnose("try pipe.unsubscribe(delegate)")
        #expect(status != 0 && errors.contains("not marked with 'await'"), "\(errors)")
    }

    @Test(
        "GR-6 a BlockingMonitor is as strict as a Mutex with a state that isn't Sendable",
        arguments: [
            ("monitor.withLock { $0.count += 1 }", true), ("_ = monitor.withLock { $0.count }", true),
            ("let other = Box(); monitor.withLock { $0 = other }; other.count += 1", false),
            ("let other = Box(); monitor.withLock { other.inner = $0 }; other.count += 1", false),
        ])
    func strictMonitor(use: String, compiles: Bool) throws {
        for type in ["BlockingMonitor", "Mutex"] {
            let (status, errors) = try diagnostics(
                """
                final class Box {
                    var count = 0
                    var inner: Box?
                }
                func use(_ monitor: borrowing \(type)<Box>) { \(use) }
                """, inPackage: true)
            #expect((status == 0) == compiles, "\(type): \(errors)")
            #expect(compiles || errors.contains("isolated"), "\(type): \(errors)")
        }
    }

    @Test(
        "GR-6 importing MediaGraph shows a client nothing internal",
        arguments: [
            "let value = BlockingMonitor(0)", "let value = NativeThread(\"t\") {}", "let value = GhostPad.self.init",
            "let value = NodeVTable.self", "let value = XConnections.self", "let value = LocalSocket.self",
            "let value = SendQueue<Int>.self", "let value = RoomLink.self", "let value = FrameScaler.self",
        ])
    func nothingInternal(use: String) throws {
        let (status, errors) = try diagnostics(use, imports: ["MediaGraph"])
        #expect(status != 0)
        #expect(
            errors.contains("cannot find") || errors.contains("inaccessible due to")
                || errors.contains("no accessible initializers"), "\(errors)")
    }

    @Test("GR-6 a client only needs to import MediaGraph")
    func oneImport() throws {
        let (status, errors) = try diagnostics(
            """
            func run() async throws {
                let graph = try Graph("v4l2src ! videoconvert ! preprocessor name=mark ! rawdatapipe name=frames resolution=720p")
                try graph.preprocessor("mark").process { frame in
                    var luma = try frame.mutablePlane(.y)
                    luma.fill(rows: 0..<16, with: 235)
                    return .pass
                }
                let frames = try graph.rawDataPipe("frames").frames
                try await graph.start()
                for try await frame in frames { print(frame.width, frame.format == VideoFormat.i420) }
                for await event in graph.events {
                    if case .element(let name, let structure) = event { print(name, structure.name) }
                }
                let time: ClockTime? = graph.position
                print(time as Any)
                await graph.stop()
            }
            """, imports: ["MediaGraph"])
        #expect(status == 0, "\(errors)")
    }
}
