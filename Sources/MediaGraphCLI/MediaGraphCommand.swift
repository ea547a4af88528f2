import ArgumentParser
import GStreamer
import Glibc

/// The program: `mediagraph SUBCOMMAND …`.
@main
struct MediaGraphCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mediagraph",
        abstract: "Media graphs from text: cameras, codecs, files and raw frames for your own code.",
        discussion: """
            A description is what gst-launch-1.0 takes, and comments, line breaks and variables:

              # a camera, and what software sees of it
              ${CAMERA:-videotestsrc} ! videoconvert ! rawdatapipe handler=count

            Begin with
              mediagraph inspect
              mediagraph run videosource handler=counter ! rawdatapipe --duration 5
            """,
        version: "mediagraph \(MediaGraphVersion.current) (GStreamer \(GStreamerRuntime.version))",
        subcommands: [RunCommand.self, CheckCommand.self, InspectCommand.self, GraphCommand.self])

    static func main() async {
        StandardStreams.openMissing()
        // Ctrl-\ ends the program; Swift's own answer is a crash report with a prompt. `run` takes it over.
        signal(SIGQUIT) { _ in _exit(ExitStatus.stopped(signal: SIGQUIT).number) }
        await main(nil)
        StandardStreams.exitIfOutputIsLost()
    }
}

enum MediaGraphVersion {
    static let current = "0.1.0"
}
