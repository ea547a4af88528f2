import MediaGraph

/// A recording of a room: a picture and a sound of each user, as tracks of one Matroska file that are in step.
///
/// ```
/// call.video_bob ─▶ compositor ─▶ encoder ─┬─▶ file
/// call.audio_bob ─▶ audiomixer ─▶ encoder ─┘
/// ```
public struct MeetingRecorder: Sendable {
    /// Run it to record, and finish it to end: the file is complete then.
    public let graph: Graph

    /// Records `users`, whether they are there already, come later, or leave and come back. The others see a user `name`.
    public init(
        room: String, users: [String], output: String, name: String = "recorder"
    ) throws(GraphError) {
        // What comes from outside goes in as variables in quotes: it may hold spaces, quotes and exclamation marks.
        var variables = ["ROOM": room, "FILE": output, "USER": name]
        var text = """
            mediasession name=call room="${ROOM}" user="${USER}"
            matroskamux name=file ! filesink location="${FILE}"
            """
        for (index, user) in users.enumerated() {
            variables["TITLE_\(index)"] = "title=" + Self.quoted(user)
            text += Self.tracks(of: PadName.escape(user), index)
        }
        graph = try Graph(text, variables: variables)
    }

    /// A file's tracks wait for each other. So what fills a track is live by itself: black and silence, and the user where
    /// there is one, 200 ms after the fact. A compositor shows a picture up to one of its frames early: here 17 ms at most.
    ///
    /// What a busy machine is too slow for is lost, to the users' pictures alone: before they are scaled, and before they are
    /// encoded. So sound isn't held up, and the file is finished soon after it is asked to.
    private static func tracks(of pad: String, _ index: Int) -> String {
        """

        compositor name=picture\(index) force-live=true ignore-inactive-pads=true latency=200000000 background=black !
            video/x-raw,format=I420,width=640,height=360,framerate=60/1 !
            videorate drop-only=true ! video/x-raw,framerate=30/1 ! queue leaky=downstream max-size-buffers=6 !
            taginject tags="${TITLE_\(index)}" ! vp8enc deadline=1 cpu-used=16 ! queue ! file.
        audiomixer name=sound\(index) force-live=true ignore-inactive-pads=true latency=200000000 !
            audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved ! taginject tags="${TITLE_\(index)}" !
            opusenc ! queue ! file.
        call.video_\(pad) ! videoconvertscale add-borders=true !
            video/x-raw,format=I420,width=640,height=360,pixel-aspect-ratio=1/1 ! picture\(index).sink_0
        call.audio_\(pad) ! audioconvert ! audioresample ! sound\(index).
        """
    }

    /// As a tag's value is written.
    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
