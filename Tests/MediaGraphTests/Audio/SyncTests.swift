import Foundation
import GStreamer
import MediaGraph
import MediaGraphTesting
import TestSupport
import Testing

/// Tests that video and audio that are sent together arrive together.
@Suite struct SyncTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Sends the film through a live graph on a test clock, and returns when its flashes and beeps arrived.
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
        // The last flash and the last beep may still be in the graph when it stops.
        #expect(watch.flashes.count >= seconds - 1 && watch.beeps.count >= seconds - 1)
        return watch
    }

    @Test(
        "VS-9 a flash and a beep that are sent together arrive together for a minute",
        arguments: [false, true])
    func together(isStamped: Bool) async throws {
        var film = BeepAndFlash()
        (film.pictureIsStamped, film.soundIsStamped) = (isStamped, isStamped)
        let differences = try await watch(film, seconds: 60).differences
        #expect(differences.allSatisfy { abs($0) < 0.002 }, "\(differences)")
    }

    @Test(
        "VS-9 audio that jitters by ±30 ms stays within 20 ms of the video for a minute",
        arguments: [false, true], 1...UInt64(Soak.count(2, soak: 5)))
    func jitter(isStamped: Bool, seed: UInt64) async throws {
        var film = BeepAndFlash()
        film.seed = seed
        // Without timestamps, all frames would keep the offset of the first one, so the frames are stamped.
        (film.pictureJitter, film.soundJitter) = (0.030, 0.030)
        (film.pictureIsStamped, film.soundIsStamped) = (true, isStamped)
        let differences = try await watch(film, seconds: 60).differences
        #expect(differences.allSatisfy { abs($0) < 0.020 }, "\(differences)")
        #expect(!isStamped || differences.allSatisfy { abs($0) < 0.001 }, "\(differences)")
    }

    @Test(
        "VS-9 audio that jitters, from a clock 200 ppm off, stays within 20 ms for two minutes",
        arguments: zip(["resample", "skew"], [200e-6, -200e-6]))
    func drift(correction: String, drift: Double) async throws {
        var film = BeepAndFlash()
        film.soundDrift = drift
        film.soundJitter = 0.010
        let differences = try await watch(film, seconds: 120, drift: correction).differences
        #expect(differences.allSatisfy { abs($0) < 0.020 }, "\(differences)")
        #expect(differences.contains { abs($0) > 0.006 }, "the audio was never off, so this test shows nothing")
    }

    @Test(
        "VS-9 audio that jitters, from a clock 200 ppm off, stays within 20 ms for thirty minutes",
        .enabled(if: Soak.isOn, "half an hour of film takes minutes: make soak"),
        arguments: zip(["resample", "skew"], [200e-6, -200e-6]))
    func halfAnHour(correction: String, drift: Double) async throws {
        var film = BeepAndFlash()
        film.soundDrift = drift
        film.soundJitter = 0.010
        let differences = try await watch(film, seconds: 1800, drift: correction).differences
        #expect(differences.count >= 1799 && differences.allSatisfy { abs($0) < 0.020 })
    }

    @Test(
        "VS-9 video and audio from the same clock, 200 ppm off, stay within 20 ms for two minutes",
        arguments: zip([false, true], [200e-6, -200e-6]))
    func sameClock(isStamped: Bool, drift: Double) async throws {
        var film = BeepAndFlash()
        (film.pictureDrift, film.soundDrift) = (drift, drift)
        (film.pictureJitter, film.soundJitter) = (0.010, 0.010)
        (film.pictureIsStamped, film.soundIsStamped) = (isStamped, isStamped)
        let differences = try await watch(film, seconds: 120).differences
        #expect(differences.allSatisfy { abs($0) < 0.020 }, "\(differences)")
    }

    @Test(
        "VS-9 video and audio stay within 20 ms through encoders and a Matroska file",
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
