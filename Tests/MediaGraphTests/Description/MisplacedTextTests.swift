import Foundation
import GStreamer
import TestSupport
import Testing

/// Tests quotes, shell syntax and filters in the wrong place. Each is reported once, with the text to write.
@Suite struct MisplacedTextTests {
    @Test(
        "GR-2 quotes that only a shell removes are one error",
        arguments: [
            (
                "videotestsrc ! 'video/x-raw(memory:NVMM), width=(int)1920, format=(string)NV12' ! fakesink",
                "16: \"video/x-raw(memory:NVMM), width=(int)1920, format=(string)NV12\" is in quotes"
            ),
            (
                "videotestsrc ! \"video/x-raw, width=(int)320\" ! fakesink",
                "16: \"video/x-raw, width=(int)320\" is in quotes"
            ),
            ("\"videotestsrc ! fakesink\"", "1: the whole description is in quotes"),
            ("'videotestsrc pattern=\"ball\" ! fakesink'\n", "1: the whole description is in quotes"),
        ])
    func quotes(text: String, expected: String) throws {
        #expect(try problems(in: text) == ["\(expected); remove the quotes: only a shell strips them"])
    }

    @Test(
        "GR-2 shell syntax is one error that says where it belongs",
        arguments: [
            (
                #"videotestsrc ! video/x-raw,format=\(string\)I420 ! fakesink"#,
                #"16: these aren't caps: "video/x-raw,format=\(string\)I420"; "#
                    + "inside quotes, write parentheses without backslashes: video/x-raw,format=(string)I420"
            ),
            (
                #"videotestsrc \! fakesink"#,
                #"14: unexpected "\"; remove the backslash: only a shell needs it, outside quotes"#
            ),
            (
                "videotestsrc ! fakesink | tee log",
                "25: unexpected \"|\"; link elements with !; a shell's pipe can't be part of a description"
            ),
            (
                "videotestsrc ! fakesink > log.txt 2>&1",
                "25: unexpected \">\"; remove it and what follows it: a shell's operators can't be part of a description"
            ),
            (
                "videotestsrc ! fakesink && echo done",
                "25: unexpected \"&&\"; remove it and what follows it: a shell's operators can't be part of a description"
            ),
        ])
    func shell(text: String, expected: String) throws { #expect(try problems(in: text) == [expected]) }

    @Test(
        "GR-2 a filter where an element belongs is one error with the text to write",
        arguments: [
            (
                "videotestsrc ! video/x-raw,width=320 ! video/x-raw,height=240 ! fakesink",
                "40: there are two filters in a row, but a link can have only one; write them as one: video/x-raw,width=320,height=240"
            ),
            (
                "videotestsrc ! video/x-raw,width=320 ! video/x-raw,width=640 ! fakesink",
                "40: there are two filters in a row, but a link can have only one; remove one, or put a converter between them"
            ),
            (
                "videotestsrc ! video/x-raw,width=320",
                "16: a chain can't end with a filter; put an element after it: "
                    + "! video/x-raw,width=320 ! …"
            ),
            (
                "video/x-raw,width=320 ! fakesink",
                "1: a chain can't begin with a filter; put an element before it: "
                    + "… ! video/x-raw,width=320"
            ),
        ])
    func filters(text: String, expected: String) throws { #expect(try problems(in: text) == [expected]) }
}
