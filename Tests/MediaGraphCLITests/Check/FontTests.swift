import Testing

@Suite struct FontTests {
    /// Returns an environment in which fontconfig finds no font.
    private static func withoutFonts(_ folder: TemporaryFolder) throws -> [String: String] {
        let file = try folder.write(
            """
            <?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
            <fontconfig><dir>\(folder.path("none"))</dir><cachedir>\(folder.path("cache"))</cachedir></fontconfig>
            """, to: "fonts.conf")
        return ["FONTCONFIG_FILE": file]
    }

    @Test("GR-2 check warns of handlers that draw text only if no font is installed")
    func check() throws {
        let folder = TemporaryFolder()
        let bare = try Self.withoutFonts(folder)
        let text = "videotestsrc ! preprocessor handler=watermark ! fakesink"
        let warned = try Program.run("check", text, environment: bare)
        #expect(warned.status == 0)
        #expect(warned.errors.contains("description:1:16: warning: no font is installed"), "\(warned.errors)")
        #expect(try Program.run("check", text).errors == "")
        let image = try folder.write("", to: "a.png")
        let picture = "videotestsrc ! preprocessor handler=watermark options=image=\(image) ! fakesink"
        #expect(try Program.run("check", picture, environment: bare).errors == "")
    }

    @Test("GR-4 graph warns once if no font is installed")
    func graph() throws {
        let folder = TemporaryFolder()
        let bare = try Self.withoutFonts(folder)
        let graph = try Program.run("graph", "videotestsrc ! fakesink", "-o", folder.path("a.png"), environment: bare)
        #expect(graph.status == 0)
        #expect(graph.errors.components(separatedBy: "warning: no font is installed").count == 2, "\(graph.errors)")
        #expect(try Program.run("graph", "videotestsrc ! fakesink", "-o", folder.path("b.png")).errors == "")
    }
}
