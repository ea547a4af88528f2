import Foundation
import GStreamer
import MediaGraph
import MediaGraphTesting
import TestSupport
import Testing

/// Whether picture and sound that set out together arrive together.
@Suite struct SyncTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs the film through a live graph on a test clock.
    private func watch(
        _ film: BeepAndFlash, seconds: Int, drift: String = "resample"
    ) async throws -> BeepAndFlashWatch {
        let graph = try Graph(
            """
            videosource name=camera max-frames=20 ! rawdatapipe name=pipe backpressure=block
            virtualmic name=mic drift=\(drift) ! speaker.user_film
            virtualspeaker name=speaker backpressure=block
            """)
        try graph.videoSource("camera").attach(film.camera)
        try graph.virtualMic("mic").attach(film.microphone)
        let (watch, clock) = (BeepAndFlashWatch(), TestClock())
        try watch.attach(to: graph)
        graph.useClock(clock.clock)
        try await graph.start()
        try film.play(seconds: seconds, on: clock, watch)
        await graph.stop()
        // What was still on its way when the graph stopped is at most the last.
        #expect(watch.flashes.count >= seconds - 1 && watch.beeps.count >= seconds - 1)
        return watch
    }

    @Test(
        "VS-9 a flash and a beep that are sent together arrive together for a minute, stamped or not",
        arguments: [false, true])
    func together(isStamped: Bool) async throws {
        var film = BeepAndFlash()
        (film.pictureIsStamped, film.soundIsStamped) = (isStamped, isStamped)
        let differences = try await watch(film, seconds: 60).differences
        #expect(differences.allSatisfy { abs($0) < 0.002 }, "\(differences)")
    }

    @Test(
        "VS-9 within 20 ms for a minute where sound comes ±30 ms off its time, stamped or not",
        arguments: [false, true], [1, 2, 3, 4, 5] as [UInt64])
    func jitter(isStamped: Bool, seed: UInt64) async throws {
        var film = BeepAndFlash()
        film.seed = seed
        // Frames that aren't stamped would be as far off for good as the first of them was.
        (film.pictureJitter, film.soundJitter) = (0.030, 0.030)
        (film.pictureIsStamped, film.soundIsStamped) = (true, isStamped)
        let differences = try await watch(film, seconds: 60).differences
        #expect(differences.allSatisfy { abs($0) < 0.020 }, "\(differences)")
        #expect(!isStamped || differences.allSatisfy { abs($0) < 0.001 }, "\(differences)")
    }

    @Test(
        "VS-9 within 20 ms for two minutes where the sound's clock is 200 ppm off, and jitters",
        arguments: ["resample", "skew"], [200e-6, -200e-6])
    func drift(correction: String, drift: Double) async throws {
        var film = BeepAndFlash()
        film.soundDrift = drift
        film.soundJitter = 0.010
        let differences = try await watch(film, seconds: 120, drift: correction).differences
        #expect(differences.allSatisfy { abs($0) < 0.020 }, "\(differences)")
        #expect(differences.contains { abs($0) > 0.006 }, "it was never off, so nothing is shown")
    }

    private static let isSoak = ProcessInfo.processInfo.environment["MEDIAGRAPH_SOAK_SECONDS"] != nil

    @Test(
        "VS-9 within 20 ms for thirty minutes where the sound's clock is 200 ppm off, and jitters",
        .enabled(if: isSoak, "half an hour of film takes minutes: make soak"),
        arguments: zip(["resample", "skew"], [200e-6, -200e-6]))
    func halfAnHour(correction: String, drift: Double) async throws {
        var film = BeepAndFlash()
        film.soundDrift = drift
        film.soundJitter = 0.010
        let differences = try await watch(film, seconds: 1800, drift: correction).differences
        #expect(differences.count >= 1799 && differences.allSatisfy { abs($0) < 0.020 })
    }

    @Test(
        "VS-9 within 20 ms for two minutes where both are taken by one clock that is 200 ppm off, stamped or not",
        arguments: zip([false, true], [200e-6, -200e-6]))
    func oneClock(isStamped: Bool, drift: Double) async throws {
        var film = BeepAndFlash()
        (film.pictureDrift, film.soundDrift) = (drift, drift)
        (film.pictureJitter, film.soundJitter) = (0.010, 0.010)
        (film.pictureIsStamped, film.soundIsStamped) = (isStamped, isStamped)
        let differences = try await watch(film, seconds: 120).differences
        #expect(differences.allSatisfy { abs($0) < 0.020 }, "\(differences)")
    }

    @Test(
        "VS-9 within 20 ms through encoders and a Matroska file, and back",
        arguments: ["x264enc tune=zerolatency", "x264enc bframes=2", "vp8enc deadline=1"],
        ["flacenc", "opusenc", "vorbisenc"])
    func file(picture: String, sound: String) async throws {
        let path = folder.file("film.mkv")
        let film = BeepAndFlash()
        let recording = try Graph(
            """
            videosource name=camera pace=fast ! videoconvert ! \(picture) ! queue ! mux.
            virtualmic name=mic pace=fast ! audioconvert ! \(sound) ! queue ! mux.
            matroskamux name=mux ! filesink location=\(path)
            """)
        try recording.videoSource("camera").attach(film.camera)
        try recording.virtualMic("mic").attach(film.microphone)
        try await recording.start()
        film.send(seconds: 20)
        _ = try await recording.waitUntilEnd()
        await recording.stop()

        let playing = try Graph(
            """
            filesrc location=\(path) ! matroskademux name=demux
            demux.video_0 ! queue ! decodebin ! videoconvert ! rawdatapipe name=pipe
            demux.audio_0 ! queue ! decodebin ! audioconvert ! audioresample ! speaker.user_film
            virtualspeaker name=speaker
            """)
        let watch = BeepAndFlashWatch()
        try watch.attach(to: playing)
        try await playing.run()
        #expect(watch.flashes.count == 20 && watch.beeps.count == 20)
        #expect(watch.differences.allSatisfy { abs($0) < 0.020 }, "\(watch.differences)")
    }
}
