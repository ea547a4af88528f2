import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphDevices

/// Tests the problems reported for descriptions with sessions: users in pad names, pads that are already linked, and
/// variables whose values contain spaces.
@Suite struct SessionTextTests {
    init() throws { try Nodes.register() }

    private func check(_ text: String, _ variables: [String: String] = [:]) throws -> String {
        try Graph.diagnose(Description(text, name: "a.pipeline"), variables: variables, isComplete: false)
            .map { $0.rendered(color: false) }.joined(separator: "\n")
    }

    @Test("GR-2 a user's pad that is linked twice is reported at the second use, with a remedy")
    func takenTwice() throws {
        #expect(
            try check("mediasession name=a user=amy a.video_bob ! fakesink a.video_bob ! fakesink") == """
                a.pipeline:1:55: error: pad "video_bob" of mediasession "a" is already linked
                   1 | mediasession name=a user=amy a.video_bob ! fakesink a.video_bob ! fakesink
                     |                                                       ^~~~~~~~~ to send its stream to several elements, put a tee after it
                """)
        let twice = try check(
            """
            mediasession name=a user=bob virtualspeaker name=s handler=count
            a.audio_carol ! s.user_carol  a.audio_dora ! s.user_carol
            """)
        #expect(twice.contains("2:48: error: pad \"user_carol\" of virtualspeaker \"s\" is already linked"), "\(twice)")
        #expect(twice.contains("name another one (user_%s)"), "\(twice)")
        let tee = "videotestsrc ! tee name=t t.src_0 ! fakesink t.src_1 ! fakesink t. ! fakesink t. ! fakesink"
        #expect(try check(tee) == "")
    }

    @Test("GR-2 SE-11 a display name or custom data that is too long is reported at its place")
    func longTexts() throws {
        let fits = String(repeating: "ä", count: 128)
        #expect(try check("mediasession user=bob display-name=\"\(fits)\" custom-data=\"\(fits)\"") == "")
        let long = try check("mediasession user=bob display-name=\"\(fits)x\"")
        #expect(long.contains("1:36: error: display-name has 257 bytes of UTF-8"), "\(long)")
        #expect(long.contains("shorten it to at most 256 bytes"), "\(long)")
        let data = try check("mediasession user=bob custom-data=\"\(String(repeating: "x", count: 1025))\"")
        #expect(data.contains("error: custom-data has 1025 bytes of UTF-8"), "\(data)")
    }

    @Test("GR-2 a session's audio linked to a video node is reported once, without a warning by GLib")
    func audioToVideoNode() throws {
        let text = try check("mediasession name=a user=bob a.audio_carol ! rawdatapipe handler=count")
        #expect(text.contains("rawdatapipe accepts video/x-raw") && !text.contains("\n\n"), "\(text)")
        #expect(text.components(separatedBy: "error:").count == 2, "\(text)")
    }

    @Test(
        "GR-1 an unescaped user name in a pad's name is reported with its escaped form",
        arguments: [
            ("video_J%C3%BCrgen", "write video_J_C3_BCrgen for the user \"Jürgen\""),
            ("video_anna_smith", "write video_anna_5Fsmith for the user \"anna_smith\""),
            ("audio__62ob", "write audio__5F62ob for the user \"_62ob\", or audio_bob for the user \"bob\""),
            ("video_Jürgen", "write call.video_J_C3_BCrgen for the user \"Jürgen\""),
            ("video_anna@x.de", "write call.video_anna_40x_2Ede for the user \"anna@x.de\""),
            ("share_日本", "write call.share__E6_97_A5_E6_9C_AC for the user \"日本\""),
        ])
    func padName(_ pad: String, _ hint: String) throws {
        let text = try check("mediasession name=call user=bob call.\(pad) ! fakesink")
        #expect(text.contains(hint), "\(text)")
        #expect(text.components(separatedBy: "error:").count == 2, "\(text)")
        let variable = try check("mediasession name=call user=bob call.${PAD} ! fakesink", ["PAD": pad])
        #expect(variable.contains(hint), "\(variable)")
    }

    @Test("GR-1 a session's pad without a user's name, or with a wildcard for all users, is an error")
    func noUser() throws {
        let text = try check("mediasession name=call user=bob call.video_%s ! fakesink")
        #expect(
            text.contains("the pad's name must contain a user's name") && text.contains("write video_bob"), "\(text)")
        let own = try check("mediasession name=call user=bob call.video_bob ! fakesink")
        #expect(own.contains("warning: user \"bob\" reads its own stream, but sends none"), "\(own)")
        #expect(own.contains("link a source: … ! call.camera"), "\(own)")
        let sent = try check("videotestsrc ! call.camera mediasession name=call user=bob call.video_bob ! fakesink")
        #expect(!sent.contains("warning"), "\(sent)")
        let unnamed = try check("mediasession name=call user=bob call.audio_ ! fakesink")
        #expect(unnamed.contains("write audio_bob for the user"), "\(unnamed)")
    }

    @Test(
        "GR-2 a variable whose value is split at its spaces is reported, unless that is intended"
    )
    func spaces() throws {
        let session = "mediasession name=call room=${ROOM} user=bob call.video_${PEER} ! fakesink"
        let room = try check(session, ["ROOM": "my room", "PEER": "ann"])
        #expect(room.contains("write the variable in quotes: \"${ROOM}\" (${ROOM} is \"my room\")"), "\(room)")
        let peer = try check(session, ["ROOM": "r", "PEER": "Anna Smith"])
        #expect(peer.contains("if it is part of a pad's name, set PEER=Anna_20Smith"), "\(peer)")
        let intended = try check("${CAMERA} ! fakesink", ["CAMERA": "videotestsrc is-livv=true"])
        #expect(intended.contains("did you mean \"is-live\"?"), "\(intended)")
        let options = try check("videotestsrc pattern=${P} ! fakesink", ["P": "snow is-livv=true"])
        #expect(options.contains("did you mean \"is-live\"?"), "\(options)")
    }

    @Test("SE-1 a user who would be in a room twice is reported before the run")
    func sameUser() throws {
        let text = try check("mediasession name=a room=r user=bob mediasession name=b room=r user=bob")
        #expect(text.contains("1:69: error: another mediasession already joins room \"r\" as \"bob\""), "\(text)")
        #expect(try check("mediasession name=a user=bob mediasession name=b room=r user=bob") == "")
        #expect(try check("mediasession name=a room=r user=bob mediasession name=b room=r user=bob join=false") == "")
        #expect(try check("mediasession name=a room=r mediasession name=b room=r").isEmpty)
        // GStreamer takes `NULL` for no name.
        #expect(!(try check("mediasession name=NULL mediasession name=NULL").contains("already")))
        let named = try check("mediasession name=a room=r mediasession name=b user=a room=r")
        #expect(named.contains("joins room \"r\" as \"a\""), "\(named)")
    }

    @Test("SH-3 a share's linked pad whose handler is missing is a warning")
    func halfAShare() throws {
        let both = "mediasession name=a user=bob sharesource name=s s. ! a.share s.audio ! a.shareaudio"
        #expect(try check(both).contains("warning: sharesource sends nothing without a handler"))
        let picture = try check(both.replacing("name=s ", with: "name=s handler=counter "))
        let lacks = "warning: sharesource has no handler for its linked pad"
        #expect(picture.contains("\(lacks) audio"), "\(picture)")
        let sound = try check(both.replacing("name=s ", with: "name=s audio-handler=tone "))
        #expect(sound.contains("\(lacks) src"), "\(sound)")
        #expect(try check("mediasession name=a user=bob sharesource name=s handler=counter ! a.share") == "")
    }

    @Test("GR-2 a window without a display is reported with the variable that selects another sink")
    func display() throws {
        let check = DisplayCheck { _ in nil }
        let text = "videotestsrc ! ${VIEW:-ximagesink}"
        func found(_ variables: [String: String] = [:]) -> [Diagnostic] {
            Description(text).resolved(with: variables).elements.flatMap { check.problems(in: $0) }
        }
        #expect(found().first?.message == "ximagesink needs a display, and DISPLAY isn't set")
        #expect(found().first?.hint == "VIEW=fakesink needs no display")
        #expect(found(["VIEW": "fakesink"]).isEmpty)
        let automatic = found(["VIEW": "autovideosink"]).first?.hint
        #expect(automatic?.hasPrefix("no window will open; VIEW=fakesink needs no display") == true)
        #expect(DisplayCheck { _ in ":0" }.problems(in: Description(text).resolved().elements[1]).isEmpty)

        let player = Description("playbin uri=file:///a.mkv").resolved().elements[0]
        #expect(check.problems(in: player).first?.severity == .warning)

        let captures = ["ximagesrc ! fakesink", "ximagesrc display-name=:1 ! fakesink"].map {
            check.problems(in: Description($0).resolved().elements[0]).first
        }
        #expect(captures[0]?.message == "ximagesrc needs a display, and DISPLAY isn't set")
        #expect(captures[0]?.hint?.contains("xvfb-run") == true && captures[1] == nil)
    }
}
