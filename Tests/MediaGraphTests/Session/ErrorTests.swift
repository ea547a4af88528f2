import Foundation
import MediaGraph
import TestSupport
import Testing

@testable import MediaGraphCore

/// Tests that errors match their documentation.
@Suite(.timeLimit(.minutes(10))) struct ErrorTests {
    /// The rows of the documentation's table, with a case's name, what happened and what to do.
    private func documented() throws -> [[String]] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let article = try String(
            contentsOf: root.appending(path: "Sources/MediaGraph/MediaGraph.docc/Errors.md"), encoding: .utf8)
        return article.split(separator: "\n").filter { $0.hasPrefix("| ``MediaGraphError/") }.map { row in
            row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        }
    }

    @Test(
        "SE-5 the documentation lists exactly the error enum's cases, with what happened and what to do")
    func cases() throws {
        let rows = try documented()
        #expect(rows.map { $0[0] } == MediaGraphError.Code.allCases.map { "``MediaGraphError/\($0)(_:)``" })
        for row in rows {
            #expect(row.count == 3 && row.allSatisfy { $0.hasSuffix(".") || $0.hasSuffix("``") }, "\(row)")
        }
        let required = [
            "wrongUsage", "uninitialized", "alreadyInUse", "invalidParameter", "tooFrequent", "tooMuchAtOnce",
            "unsupported", "notPermitted", "notInSession", "noSuchUser", "noVideo", "noShare", "noAudio", "noDevice",
            "deviceBusy", "deviceGone", "allocationFailed", "processingFailed", "lockedWhileRunning", "timeOut",
            "internalError", "unreachable",
        ]
        #expect(MediaGraphError.Code.allCases.map { "\($0)" } == required)
        for code in MediaGraphError.Code.allCases {
            let detail = MediaGraphError.Detail("it", expected: "this", actual: "that")
            let error = MediaGraphError(code, detail)
            #expect(error.code == code && error.detail == detail && "\(error)" == "it: expected this, got that")
        }
    }

    @Test(
        "SE-5 the text of an error is a sentence if what happened begins with a verb",
        arguments: [
            ("", "is empty", "it is empty"), ("", "can't be read", "it can't be read"),
            ("", "has no caps", "it has no caps"),
            ("", "isn't there", "it isn't there"), ("", "the frame is empty", "it: the frame is empty"),
            ("", "issue 7", "it: issue 7"), ("", "", "it"), ("more", "", "it: expected more"),
            ("more", "is less", "it: expected more, got is less"),
        ])
    func sentences(_ expected: String, _ actual: String, _ text: String) {
        #expect("\(MediaGraphError.wrongUsage(.init("it", expected: expected, actual: actual)))" == text)
    }

    @Test(
        "SE-5 joining throws typed errors for a missing device, a joined session and a cancelled task"
    )
    func joining() async throws {
        let alice = try session("alice", #function) { $0.camera = "v4l2src device=/dev/no-such-camera" }
        let missing = await #expect(throws: MediaGraphError.self) { try await alice.join() }
        #expect(missing?.code == .noDevice && "\(missing!)".contains("/dev/no-such-camera"), "\(missing!)")
        let preview = await #expect(throws: MediaGraphError.self) { try await alice.preview.start() }
        #expect(preview?.code == .noDevice)
        let bob = try session("bob", #function)
        try await bob.join()
        let twice = await #expect(throws: MediaGraphError.self) { try await bob.join() }
        #expect(twice?.code == .wrongUsage && bob.isJoined)
        await bob.leave()
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await #expect(throws: MediaGraphError.self) { try await bob.join() }
        }
        #expect(await cancelled.value?.code == .notInSession && !bob.isJoined)
        // An error survives the way over the bus.
        for code in MediaGraphError.Code.allCases {
            let error = MediaGraphError(code, .init("it", expected: "this", actual: "that"))
            #expect(MediaGraphError(details: error.details) == error)
        }
    }

    @Test(
        "SE-2 changing the speaker or the session's settings after joining is an error"
    )
    func lockedInSession() async throws {
        struct SilentSpeaker: VirtualSpeaker, Sendable {}
        let alice = try session("alice", #function) { $0.virtualAudioSpeaker = SilentSpeaker() }
        try await alice.join()
        let speaker = #expect(throws: MediaGraphError.self) {
            try alice.graph.virtualSpeaker("speaker").attach(SilentSpeaker())
        }
        #expect(speaker?.code == .lockedWhileRunning)
        for (node, property, value) in [
            ("speaker", "memory-mode", "heap"), ("session", "room", "other"), ("session", "user", "bob"),
            ("session", "role", "host"), ("session", "raw-streaming", "true"),
        ] {
            let element = try alice.graph.element(node)
            let before = try element.propertyText(property)
            #expect(throws: PropertyError.self) { try element.setProperty(property, parsing: value) }
            #expect(try element.propertyText(property) == before)
        }
        await alice.leave()
    }
}
