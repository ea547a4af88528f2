import CMediaGraphABI
import Foundation
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests the problems found in handlers' options without creating a handler.
@Suite struct OptionCheckTests {
    @Test("GR-5 an option value that the handler refuses is an error at the option, with valid values")
    func value() throws {
        #expect(
            try report(on: #"videotestsrc ! preprocessor handler=pixelate options="x=0.5, block=1" ! fakesink"#) == #"""
                a.pipeline:1:62: error: option block of pixelate: expected a whole number from 2 to 128, got "1"
                   1 | videotestsrc ! preprocessor handler=pixelate options="x=0.5, block=1" ! fakesink
                     |                                                              ^~~~~~~
                """#)
        #expect(
            try report(on: #"videosource handler=counter options="width=5" ! fakesink"#) == #"""
                a.pipeline:1:37: error: options of counter: only one of width and height is set; set both, or neither
                   1 | videosource handler=counter options="width=5" ! fakesink
                     |                                     ^~~~~~~~~
                """#)
    }

    @Test("GR-5 each wrong option is reported in one pass, with its position")
    func several() throws {
        let text = #"videotestsrc ! preprocessor handler=pixelate options="block=1,x=7,blok=2,width=-1" ! fakesink"#
        let found = try Graph.diagnose(Description(text))
        #expect(
            found.map { "\($0.range.column) \($0.message.prefix(12))" } == [
                "55 option block", "63 option x of ", "67 preprocessor", "74 option width",
            ])
        // A missing name isn't reported if it may be the misspelt one, nor options that belong together if one is
        // wrong.
        let misspelt = try Graph.diagnose("videotestsrc ! rawdatapipe handler=snapshot options=locaton=a.png,every=0")
        #expect(misspelt.map(\.severity) == [.error, .error])
        let missing = try Graph.diagnose("videotestsrc ! rawdatapipe handler=snapshot options=every=0")
        #expect(missing.count == 2)
        #expect(missing.contains { $0.message.contains("needs the option \"location\"") })
    }

    @Test("GR-5 a missing required option is an error, with or without other options")
    func required() throws {
        #expect(
            try report(on: "videotestsrc ! rawdatapipe handler=y4m") == #"""
                a.pipeline:1:36: error: rawdatapipe handler y4m needs the option "location"
                   1 | videotestsrc ! rawdatapipe handler=y4m
                     |                                    ^~~ options="location=out.y4m"
                """#)
        #expect(
            try report(on: "videotestsrc ! rawdatapipe handler=snapshot options=every=2").contains("needs the option"))
    }

    @Test("GR-5 options without a handler are an error")
    func noHandler() throws {
        #expect(
            try report(on: "videotestsrc ! preprocessor options=block=2 ! fakesink").contains(
                "a.pipeline:1:37: error: options are set, but no handler"))
    }

    @Test("GR-5 a wrong option in a variable is reported at the variable")
    func variable() throws {
        let found = try report(
            on: #"videotestsrc ! preprocessor handler=pixelate options="${A:-block=999}" ! fakesink"#)
        #expect(
            found.contains(#"error: option block of pixelate: expected a whole number from 2 to 128, got "999""#),
            "\(found)")
    }

    @Test("GR-5 a node without a handler is a warning, but not a pre-processor with a name")
    func withoutHandler() throws {
        let found = try Graph.diagnose("videosource ! preprocessor ! rawdatapipe")
        #expect(found.map(\.severity) == [.warning, .warning, .warning])
        #expect(found.map(\.range.column) == [1, 15, 30])
        // A program can look the pre-processor up by its name.
        #expect(try Graph.diagnose("videosource ! preprocessor name=p ! rawdatapipe").map(\.range.column) == [1, 37])
        #expect(try Graph.diagnose("videotestsrc ! rawdatapipe handler=count").isEmpty)
        // The mix goes to another element.
        #expect(try Graph.diagnose("audiotestsrc ! virtualspeaker").map(\.severity) == [.warning])
        #expect(try Graph.diagnose("audiotestsrc ! virtualspeaker ! fakesink").isEmpty)
    }

    @Test("GR-5 checking creates, empties and needs no file")
    func noEffects() throws {
        let folder = try TemporaryFolder()
        let kept = try folder.write("kept.y4m", Array("kept".utf8))
        for handler in ["y4m", "framemd5", "contactsheet"] {
            for location in [kept, folder.file("new"), "/no/such/folder/x"] {
                let text = "videotestsrc ! rawdatapipe handler=\(handler) options=\"location=\(location)\""
                // A missing folder is only a warning, because it may be created before the run.
                let found = try Graph.diagnose(Description(text)).map(\.message)
                #expect(found == (location.hasPrefix("/no") ? ["the folder of \"\(location)\" doesn't exist"] : []))
            }
        }
        #expect(try folder.readText("kept.y4m") == "kept")
        #expect(folder.contents == ["kept.y4m"])
    }

    @Test("GR-5 the check of each built-in handler refuses the values that the handler refuses")
    func agreement() {
        // Tests a wrong value for each option that isn't free text.
        let free = ["location", "text", "image", "clock"]
        for kind in HandlerRegistry.Kind.allCases {
            for handler in HandlerRegistry.shared.handlers(kind) where handler.library == nil {
                let required = handler.options.filter(\.isRequired).map { "\($0.name)=\($0.example)," }.joined()
                #expect(throws: Never.self) {
                    try HandlerRegistry.shared.validate(kind, handler.name, options: required)
                }
                for option in handler.options where !free.contains(option.name) {
                    #expect(throws: MediaGraphError.self, "\(handler.name) \(option.name)") {
                        try HandlerRegistry.shared.validate(
                            kind, handler.name, options: "\(required)\(option.name)=nonsense")
                    }
                }
            }
        }
    }

    @Test("GR-2 a handler's name instead of an element is an error with the right syntax")
    func handlerAsElement() throws {
        #expect(
            try report(on: "videotestsrc ! pixelate ! fakesink").contains(
                "pixelate is a handler; write preprocessor handler=pixelate"))
        // Two handlers are called wav; writing a file is the more common one.
        #expect(try report(on: "audiotestsrc ! wav").contains("wav is a handler; write virtualspeaker handler=wav"))
    }

    @Test("a snapshot's file name without a number is an error, unless the limit is one picture")
    func oneName() throws {
        let error = #expect(throws: MediaGraphError.self) {
            _ = try HandlerRegistry.shared.make(MGVideoConsumer.self, "snapshot", options: "location=a.png")
        }
        #expect(error?.detail.actual.contains("each picture would overwrite") == true)
        _ = ConsumerHandle(
            try HandlerRegistry.shared.make(MGVideoConsumer.self, "snapshot", options: "location=a.png,limit=1"))
    }
}

extension Graph {
    fileprivate static func diagnose(_ text: String) throws -> [Diagnostic] { try diagnose(Description(text)) }
}
