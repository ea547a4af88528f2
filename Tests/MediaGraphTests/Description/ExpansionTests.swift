import Foundation
import GStreamer
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphDescription

/// Tests the text that GStreamer's parser gets for a description.
@Suite struct ExpansionTests {
    init() throws { try Nodes.register() }

    private func expand(_ text: String, _ variables: [String: String] = [:]) throws -> String {
        try Description(text).resolved(with: variables).text
    }

    @Test("GR-1 a comment starts at the start of a token and ends with its line")
    func comments() throws {
        #expect(try expand("# first\nfakesrc # second\n! fakesink # third") == "\nfakesrc \n! fakesink ")
        #expect(try expand("fakesrc !# a\nfakesink") == "fakesrc !\nfakesink")
        #expect(try expand("(# a\nfakesrc )") == "(\nfakesrc )")
    }

    @Test(
        "GR-1 a # inside a token, a value or quotes doesn't start a comment",
        arguments: [
            "filesrc location=a#b ! fakesink", "filesrc location= #b ! fakesink",
            "filesrc location=\"a #b\" ! fakesink",
            "filesrc location='a #b' ! fakesink", "filesrc location=a\\ #b ! fakesink", "file:///tmp/a#b ! fakesink",
            "fakesrc ! video/x-raw,name=\"a #b\" ! fakesink", "filesrc location=\\# ! fakesink",
        ])
    func noComment(_ text: String) throws {
        #expect(try expand(text) == text)
    }

    @Test("GR-1 comments and line breaks may be inside a caps filter")
    func commentInFilter() throws {
        let text = "fakesrc !\n  # small\n  video/x-raw, # size\n  width=320 ! fakesink"
        #expect(try expand(text) == "fakesrc !\n  \n  video/x-raw, \n  width=320 ! fakesink")
    }

    @Test(
        "SH-5 an element that may open a screen is found wherever a description names it",
        arguments: [
            ("videotestsrc ! ximagesink", true), ("playbin video-sink=\"videoconvert ! ximagesink\"", true),
            ("devicesource source=\"ximagesink\" ! fakesink", true),
            ("switchbin num-paths=1 path0::element=ximagesink", true),
            ("filesrc location=ximagesink.mkv ! fakesink name=ximagesink", false),
        ])
    func factories(text: String, isFound: Bool) throws {
        #expect(Description(text).resolved().factories.contains("ximagesink") == isFound)
    }

    @Test("GR-1 a backslash at the end of a line is dropped, unless it is quoted or escaped")
    func continuation() throws {
        #expect(try expand("fakesrc \\\n! fakesink") == "fakesrc \n! fakesink")
        #expect(try expand("fakesrc \\\r\n! fakesink") == "fakesrc \n! fakesink")
        #expect(try expand("filesrc location=\"a\\\nb\"") == "filesrc location=\"a\\\nb\"")
        #expect(try expand("filesrc location=a\\\\\n") == "filesrc location=a\\\\\n")
    }

    @Test("GR-1 a variable is replaced by its value, or by its default if the value is missing or empty")
    func defaults() throws {
        #expect(try expand("${A:-fakesrc} ! fakesink") == "fakesrc ! fakesink")
        #expect(try expand("${A:-fakesrc} ! fakesink", ["A": ""]) == "fakesrc ! fakesink")
        #expect(try expand("${A:-fakesrc} ! fakesink", ["A": "identity"]) == "identity ! fakesink")
        #expect(try expand("fakesink name=a${A}b", ["A": ""]) == "fakesink name=ab")
        #expect(try expand("${A:-${B:-fakesrc}}${C:-}") == "fakesrc")
        #expect(try expand("fakesink name=${A:-a\\}b}") == "fakesink name=a}b")
    }

    private static let oddNames = [
        #"a\b.md5"#, #"a"b"#, #""q""#, "it's", "'q'", "a,b", "a b", #"tail\"#, "x=y", "a;b", "a!b", "a{b}", "(int)5",
        "007",
        "ü ñ", "${X}", #"a\\b"#, #"\""#, "[1]", "<a>", #"a""#, "-",
    ]

    @Test("GR-1 a variable's value reaches a handler's options unchanged, in nested quotes too", arguments: oddNames)
    func nestedQuotes(_ value: String) throws {
        func location(_ options: String) throws -> String? {
            let element = try #require(
                Description("rawdatapipe \(options)").resolved(with: ["OUT": value]).elements.first)
            let text = try #require(element.property("options")?.value)
            return try HandlerOptions(text, handler: "y4m").text("location")
        }
        #expect(try location(#"options="location=\"${OUT}\"""#) == value)
        #expect(try location(#"options="every=1, location= \"in ${OUT}\",limit=1""#) == "in \(value)")
        #expect(try location(#"options="location=\"${NONE:-${OUT}}\"""#) == value)
        // A description in a property has one more level of quotes.
        let nested = Description(#"playbin video-sink="rawdatapipe options=\"location=\\\"${OUT}\\\"\"""#)
        let inner = try #require(
            nested.resolved(with: ["OUT": value]).elements.first?.nested.first?.property("options")?.value)
        #expect(try HandlerOptions(inner, handler: "y4m").text("location") == value)
    }

    @Test(
        "GR-1 a variable's value reaches a stock element unchanged",
        arguments: oddNames + ["NULL", #"""#, #""a b""#, #""ü""#])
    func stockProperty(_ value: String) throws {
        for text in [#"filesink name=s location="${OUT}""#, #"filesink location="${NO:-${OUT}}" name=s"#] {
            let description = Description(text)
            let expanded = try description.resolved(with: ["OUT": value]).text
            let sink = try #require(Pipeline(parsing: expanded).element(named: "s"))
            #expect(try sink.property("location", as: String.self) == value, "\(expanded)")
            let element = try #require(description.resolved(with: ["OUT": value]).elements.first)
            #expect(element.property("location")?.value == value)
            #expect(description.resolved(with: ["OUT": value]).diagnose() == [])
        }
    }

    @Test("GR-1 GStreamer's property parser removes quotes that a description puts around a variable")
    func ownQuotes() throws {
        let description = Description(##"filesink location="\"${A}\"""##)
        let element = try #require(description.resolved(with: ["A": "a"]).elements.first)
        #expect(element.property("location")?.value == "a")
    }

    @Test("GR-7 every shipped description accepts any file name where it takes one")
    func shippedNames() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Pipelines").standardizedFileURL
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
            $0.hasSuffix(".pipeline")
        }
        #expect(files.count > 20)
        let entries = HandlerRegistry.Kind.allCases.flatMap { HandlerRegistry.shared.handlers($0) }
        let fileOptions = Set(entries.flatMap(\.options).filter { $0.isInput || $0.isOutput }.map(\.name))
        #expect(fileOptions.contains("location"))
        for file in files {
            let description = try Description(contentsOfFile: folder.appendingPathComponent(file).path)
            // A file's name in options needs its own quotes.
            let bare = description.text.matches(of: /\b([a-z-]+)=\$\{/).map { String($0.1) }
            #expect(fileOptions.isDisjoint(with: bare), "\(file)")
            let inProperties = Set(description.text.matches(of: /\slocation="\$\{([A-Z_]+)/).map { String($0.1) })
            let inOptions = Set(description.text.matches(of: /\\"\$\{([A-Z_]+)/).map { String($0.1) })
            for value in Self.oddNames {
                func elements(_ names: Set<String>) -> [DescribedElement] {
                    description.resolved(with: Dictionary(uniqueKeysWithValues: names.map { ($0, value) })).elements
                }
                if !inProperties.isEmpty, inProperties != ["HERE"] {
                    let isThere = elements(inProperties).contains { $0.property("location")?.value == value }
                    #expect(isThere, "\(file): \(value)")
                }
                guard !inOptions.isEmpty else { continue }
                let options = elements(inOptions).flatMap(\.properties).filter { $0.name == "options" }
                let values = try options.compactMap { property -> [String]? in
                    guard let text = property.value else { return nil }
                    let keys = try #require(HandlerOptions.keys(in: text), "\(file): \(text)")
                    let read = try HandlerOptions(text, handler: file)
                    return keys.compactMap { read.text($0) }
                }.joined()
                #expect(values.contains { $0.contains(value) }, "\(file): \(value)")
            }
        }
    }

    @Test("GR-1 an unquoted variable may hold several tokens, but no comment and no other variable")
    func tokens() throws {
        #expect(
            try expand("${CAMERA} ! fakesink", ["CAMERA": "videotestsrc is-live=true"])
                == "videotestsrc is-live=true ! fakesink")
        #expect(try expand("fakesrc ${A}", ["A": "name=${A} #x"]) == "fakesrc name=${A} #x")
    }

    @Test("GR-1 $${ is a literal ${, and a $ without a brace has no meaning")
    func literalDollar() throws {
        #expect(try expand("filesrc location=\"$${A}\" name=$HOME$") == "filesrc location=\"${A}\" name=$HOME$")
        #expect(try expand("filesrc location=$$${A}") == "filesrc location=$${A}")
        #expect(try expand("filesrc location=\\${A}") == "filesrc location=\\${A}")
        #expect(try expand("${A:-$${B\\}}") == "${B}")
    }

    @Test(
        "GR-1 a quoted variable stays one value, whatever it contains",
        arguments: [
            "plain", "a b", "a\"b", "it's", "a\\b", "a\\", "\\", "\\\\", "a b\\", "\"", "! fakesink", "#x", "${A}",
            "$${A}", "a\nb",
            "ü 日本", "a=b c=d", "}", ") (", "\t",
        ])
    func quoted(_ value: String) throws {
        // Another quoted value follows, because GStreamer's lexer could end the first value at the second one's quote.
        let text = "filesrc location=\"${A}\" name=\"n\" ! fakesink"
        let parsed = DescriptionParser.parse(Array(try expand(text, ["A": value]).utf8))
        #expect(parsed.problems == [])
        #expect(parsed.elements.map(\.factory) == ["filesrc", "fakesink"])
        // Reads the value like a string property: GStreamer removes quotes around the whole value once more.
        let read = try #require(parsed.elements.first).properties.map {
            PropertyText.unwrapped(Array($0.value.utf8))?.text
        }
        #expect(read == [value, "n"])
    }

    @Test(
        "GR-1 a variable in single quotes, which belong to the value, stays one value",
        arguments: ["it's", "a\\", "a \"b\""])
    func singleQuoted(_ value: String) throws {
        let text = "filesrc location='<${A}' name='n' ! fakesink"
        let parsed = DescriptionParser.parse(Array(try expand(text, ["A": value]).utf8))
        #expect(parsed.elements.first?.properties.map(\.value) == ["'<\(value)'", "'n'"])
    }

    @Test(
        "GR-1 a quoted variable in a caps filter stays one value",
        arguments: ["x y", "a\"b", "a\\", "a!b", "a;b", "x ! y"])
    func quotedInCaps(_ value: String) throws {
        let text = "fakesrc ! video/x-raw,name=\"${A}\" ! fakesink"
        let expanded = try expand(text, ["A": value])
        let parsed = DescriptionParser.parse(Array(expanded.utf8))
        #expect(parsed.problems == [])
        let caps = try Caps(checking: #require(parsed.links.first?.filter?.text))
        #expect(caps[0].text("name") == value)
        #expect(Description(text).resolved(with: ["A": value]).diagnose() == [])
    }

    @Test("GR-1 a quoted variable's default is one value too")
    func quotedDefault() throws {
        let parsed = DescriptionParser.parse(Array(try expand("filesrc location=\"${A:-a \"b\" c}\"").utf8))
        #expect(parsed.elements.first?.properties.map(\.value) == ["a \"b\" c"])
    }

    @Test(
        "GR-2 an empty variable where a value must be is an error, or the next word would be the value",
        arguments: [
            ("videotestsrc ! identity name=${W:-} ! fakesink", 30), ("fakesrc num-buffers=${W}\n! fakesink", 21),
            ("fakesrc ! fakesink name= ${W}", 26), ("fakesrc name=${W:-}${W} ! fakesink", 14),
            ("videotestsrc ! video/x-raw,width=${W},height=2 ! fakesink", 34),
            ("videotestsrc ! video/x-raw,width=${W} ! fakesink", 34),
        ])
    func emptyValue(_ text: String, _ column: Int) throws {
        let found = Description(text).resolved(with: ["W": ""]).diagnose()
        #expect(found.map(\.message) == ["variable \"W\" is empty here"])
        #expect(found.map(\.range.column) == [column])
        #expect(throws: DescriptionError.self) { try expand(text, ["W": ""]) }
    }

    @Test(
        "GR-1 an empty variable is accepted in quotes, beside a value, and where no value is needed",
        arguments: [
            "filesrc location=\"${W:-}\" ! fakesink", "fakesrc name=a${W:-} ! fakesink",
            "fakesrc name=${W:-}a ! fakesink",
            "fakesrc ${W:-} ! fakesink", "fakesrc name=${W:-}${X:-a} ! fakesink",
            "videotestsrc ! textoverlay text=a=${W:-} ! fakesink",
        ])
    func emptyElsewhere(_ text: String) {
        #expect(Description(text).resolved().diagnose() == [])
    }

    @Test("GR-1 HERE is the folder of the description's file, or the current one, and can be overridden")
    func here() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("a.pipeline", Array("filesrc location=\"${HERE}/x\"".utf8))
        #expect(try Description(contentsOfFile: file).resolved().text == "filesrc location=\"\(folder.path)/x\"")
        #expect(
            try Description(contentsOfFile: file).resolved(with: ["HERE": "/y"]).text == "filesrc location=\"/y/x\"")
        #expect(try expand("${HERE}") == FileManager.default.currentDirectoryPath)
    }

    @Test("GR-1 a device is read like a file, up to the maximum length of a description")
    func specialFiles() throws {
        #expect(try Description(contentsOfFile: "/dev/null").text == "")
        let limit = Description.maximumLength
        #expect(throws: Description.FileError.tooLong(path: "/dev/zero", limit: limit)) {
            try Description(contentsOfFile: "/dev/zero")
        }
    }

    @Test("GR-1 a byte order mark and Windows line endings are accepted")
    func windows() throws {
        #expect(Description("\u{FEFF}# a\r\nfakesrc\r\n! fakesink\r\n").resolved().diagnose() == [])
    }

    @Test("GR-1 a description lists its variables, and the given values that it doesn't use")
    func variables() {
        let description = Description("# ${NOT}\n${CAMERA:-${TEST:-x}} ! fakesink name=\"${NAME}\" ${CAMERA:-y}")
        #expect(description.variables.map(\.name) == ["CAMERA", "TEST", "NAME"])
        #expect(description.variables.map(\.defaultValue) == ["${TEST:-x}", "x", nil])
        #expect(description.variables[0].range == SourceRange(file: "description", line: 2, column: 1, length: 21))
        let unused = description.unused(["CAMRA": "", "NAME": "", "other": ""])
        #expect(unused.map(\.name) == ["CAMRA", "other"])
        #expect(unused.map(\.nearest) == ["CAMERA", nil])
    }

    @Test("GR-1 the comment at the beginning of a description gives its title")
    func title() {
        let text = "#!/usr/bin/env mediagraph\n#\n#  call:   two people \n# Needs a camera\n\n# not this\nfakesrc"
        #expect(Description(text).title == "call: two people")
        #expect(Description(text).comment == ["", "call: two people", "Needs a camera"])
        #expect(Description("fakesrc # no").title == nil)
    }
}
