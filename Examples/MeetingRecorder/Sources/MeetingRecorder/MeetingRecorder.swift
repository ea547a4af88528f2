import MediaGraph

/// A recording of a room: the picture and the sound of each user, in sync, as tracks of one Matroska file.
///
/// ```
/// call.video_bob ─▶ compositor ─▶ encoder ─┬─▶ file
/// call.audio_bob ─▶ audiomixer ─▶ encoder ─┘
/// ```
public struct MeetingRecorder: Sendable {
    /// The recording's graph. Run it to record; the file is complete when `finish()` has returned.
    public let graph: Graph

    /// Makes a recording of `users`, who may join later, leave and return. Other users of the room see the recorder as
    /// `name`.
    public init(
        room: String, users: [String], output: String, name: String = "recorder"
    ) throws(GraphError) {
        // The arguments are variables in quotes, because they may contain spaces, quotes and exclamation marks.
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

    /// Returns the part of the description for one user.
    ///
    /// A file's tracks wait for each other, so each track has a live source of its own: black or silence, with the
    /// user's picture or sound added 200 ms late. A compositor shows a picture up to one of its frames early: here at
    /// most 17 ms.
    ///
    /// A machine that is too slow loses only pictures, before scaling and before encoding. Sound isn't delayed, and the
    /// file is finished soon after Ctrl-C.
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

    /// Returns the text as the value of a tag, in quotes.
    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
