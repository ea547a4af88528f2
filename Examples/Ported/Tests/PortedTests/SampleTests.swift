import Ported
import Testing

/// Each sample's lines for five frames. The camera's frame `n` is a gradient that begins with `2n`.
@Suite struct SampleTests {
    private func lines(_ name: String) async throws -> [String] {
        try await #require(Sample.all.first { $0.name == name }).run(5)
    }

    @Test(
        "VS-10 each ported source runs and its frames come as it made them",
        arguments: ["zoom-source-task", "zoom-source-thread"])
    func sources(name: String) async throws {
        let lines = try await lines(name)
        #expect(lines.count == 5)
        // A live pipe may drop a frame on a busy machine: what came is in order, and starts with the first.
        #expect(lines.first == "320×180 I420, first luma 0")
        #expect(lines == lines.sorted { number($0) < number($1) })
    }

    private func number(_ line: String) -> Int { Int(line.split(separator: " ").last!)! }

    @Test("VM-1 the ported microphone's pump, which never sleeps, is paced by the node, and none of its sound is lost")
    func virtualMic() async throws {
        // The node gives out 10 ms at a time.
        #expect(try await lines("zoom-virtual-mic") == [0, 0, 1, 1, 2].map { "16000 Hz, 160 samples, first \($0)" })
    }

    @Test("SH-1 the ported share starts in a session, and another user has its frames, each wider than the one before")
    func shareSource() async throws {
        let lines = try await lines("zoom-share-source")
        #expect(lines.count == 5)
        // A live session may drop a frame on a busy machine; each says itself which it is.
        let numbers = lines.map(number)
        #expect(lines == numbers.map { "\(320 + 2 * $0)×180 BGRA, first blue \($0)" })
        #expect(numbers == Array(Set(numbers)).sorted())
    }

    @Test(
        "SE-1 the ported session: who comes, sends, speaks, shares and leaves is told in order, and comes through its pipe",
        .timeLimit(.minutes(2)))
    func session() async throws {
        let lines = try await lines("zoom-session")
        func about(_ stream: String) -> [String] {
            lines.filter { $0.hasPrefix(stream + ": ") }.map { String($0.dropFirst(stream.count + 2)) }
        }
        #expect(
            about("session") == [
                "joined", "alice joined", "alice shares", "alice has shared", "alice left", "left",
            ])
        for (stream, isSize) in [("video of alice", { $0 == 320 }), ("share of alice", { $0 >= 320 })]
            as [(String, (Int) -> Bool)]
        {
            let lines = about(stream)
            #expect(lines.first == "on" && lines.last == "off" && lines.count >= 7)
            #expect(
                lines.dropFirst().dropLast().allSatisfy {
                    $0.hasSuffix("×180 I420") && isSize(Int($0.split(separator: "×")[0])!)
                })
        }
        for stream in ["mixed audio", "audio of alice"] {
            #expect(Set(about(stream)) == ["48000 Hz, 1 channel"] && about(stream).count >= 5)
        }
    }

    @Test("PP-1 the ported pre-processor's watermark is on each frame that leaves, beside the camera's picture")
    func preProcessor() async throws {
        let expected = (0..<5).map { "320×180 I420, watermark 255, beside it \(16 + 2 * $0)" }
        #expect(try await lines("zoom-pre-processor") == expected)
    }

    @Test(
        "RP-7 in the ported heap mode a borrower is refused, and frames of both pipes are there when the graph is gone")
    func memoryMode() async throws {
        let lines = try await lines("zoom-memory-mode")
        #expect(
            lines.first == "refused: video's memory-mode: expected stack, for a handler that borrows frames, got heap")
        #expect(
            Array(lines.dropFirst())
                == ["video", "share"].flatMap { pipe in (0..<5).map { "\(pipe): first luma \(2 * $0)" } })
    }

    @Test("RP-8 the ported delegate keeps each frame past the call, as it was, between the statuses on and off")
    func rawDataPipe() async throws {
        let turns = ["upright", "90 degrees", "180 degrees", "270 degrees", "upright"]
        let frames = turns.enumerated().map { number, turn in
            "320×180 I420, \(turn), time known, first y \(2 * number), u 128, v 128"
        }
        #expect(try await lines("zoom-raw-data-pipe") == ["on"] + frames + ["off"])
    }

    @Test("RP-12 the ported delegate has each pixel buffer as it came, with its rotation")
    func pixelBuffer() async throws {
        let expected = (0..<5).map {
            "320×180 NV12 in SystemMemory, frame \($0), \($0 == 1 ? "90 degrees" : "not 90 degrees")"
        }
        #expect(try await lines("zoom-pixel-buffer") == expected)
    }

    @Test("AL-1 the ported calls ask, turn the alpha channel on, and the next frame has the mask")
    func alphaChannel() async throws {
        #expect(
            try await lines("zoom-alpha-channel") == [
                "frame 0: no alpha", "frame 1: no alpha",
                "can be enabled: true, the device supports it: true", "is enabled: true",
                "frame 2: alphaBufferLen 57600, first alpha 0", "frame 3: alphaBufferLen 57600, first alpha 0",
                "frame 4: alphaBufferLen 57600, first alpha 0", "alpha channel status changed: true",
            ])
    }

    @Test("SP-1 the ported speaker hears the mix, each user alone, and the share, which is no part of the mix")
    func virtualSpeaker() async throws {
        let lines = try await lines("zoom-virtual-speaker")
        func stream(_ name: String, _ first: Int) -> [String] {
            [String](repeating: "\(name): bufferLen 640, sampleRate 32000, channelNum 1, first \(first)", count: 5)
        }
        #expect(
            lines == stream("mixed", 8191 + 4095) + stream("anna", 8191) + stream("bob", 4095)
                + stream("shared", 16383))
    }

    @Test("CR-1 the ported handler has each frame of preview and played stream, and so has what renders them")
    func customRender() async throws {
        let expected = [
            (0..<5).map {
                "preview: raw data video frame callback. format: BGRA, width: 320, height: 180, stride: 1280, "
                    + "flip: none, first blue: \(2 * $0)"
            },
            (0..<5).map { "view: 320×180 I420, first byte \(2 * $0)" },
            (0..<5).map {
                "playing: pixel buffer video frame callback. format: BGRA, width: 320, height: 180, flip: none, "
                    + "frame: \($0)"
            },
            (0..<5).map { "screen: 320×180 BGRA, first byte \(2 * $0)" },
        ]
        #expect(try await lines("zego-custom-render") == expected.flatMap(\.self))
    }

    @Test("FO-4 the ported observer has upright RGBA at each position; what it writes goes on, what it drops doesn't")
    func frameObserver() async throws {
        // The gradient's upper left corner once it is upright: its left edge, or its right one, which is 319 more.
        let seen = [("320×180", 0), ("180×320", 2), ("320×180", 67), ("180×320", 69), ("320×180", 8)]
        let expected = [
            seen.map { "captured: \($0.0) RGBA, first red \($0.1)" },
            // The corner of 200, inverted by the pre-processor between.
            seen.map { "sent: \($0.0) RGBA, first red 55" },
            // Not upright, so only the first and the last begin with that corner.
            [55, 253, 251, 249, 55].map { "encoder: 320×180 I420, first luma \($0)" },
            seen.map { "received: user 42, \($0.0) RGBA, first red \($0.1)" },
            [0, 4, 8].map { "renderer: 320×180 I420, first luma \($0)" },
        ]
        #expect(try await lines("agora-frame-observer") == expected.flatMap(\.self))
    }
}
