import Foundation
import Testing

/// Users of one room in several processes of a machine.
@Suite struct RoomProcessTests {
    private let folder = TemporaryFolder()

    /// Starts a run in the test's own runtime folder, so that its rooms are separate from those of other tests.
    private func program(_ text: String, _ more: String...) throws -> LiveProgram {
        try LiveProgram(
            arguments: ["run", "--json", text] + more, environment: ["XDG_RUNTIME_DIR": folder.url.path])
    }

    private func bob() throws -> LiveProgram {
        try program(
            """
            videosource handler=counter options="width=130,height=74,fps=30" ! call.camera
            mediasession name=call room=r user=bob
            """)
    }

    private func alice(_ location: String) throws -> LiveProgram {
        try program(
            """
            mediasession name=call room=r user=alice
            call.video_bob ! rawdatapipe name=bob handler=framemd5 options="location=\(folder.url.path)/\(location)"
            """)
    }

    /// Returns the checksums of a file that framemd5 has written.
    private func checksums(_ location: String) throws -> [Substring] {
        try folder.text(location).split(separator: "\n").filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: ",").last }.map { $0.drop { $0 == " " } }
    }

    @Test("SE-3 users of two processes meet: frames arrive unchanged and in order, and no file remains")
    func meeting() throws {
        let alice = try alice("received")
        let bob = try bob()
        #expect(alice.waits { $0.statuses(on: true) == 1 }, "\(alice.output)\(alice.errors)")
        #expect(alice.waits { $0.count("\"stream\"") == 1 && $0.output.contains("\"user\":\"bob\"") })
        #expect(alice.waits { $0.framesDelivered >= 40 }, "\(alice.output)")
        // One after the other: the last one to leave removes the room's folder.
        for program in [alice, bob] {
            program.send(SIGINT)
            #expect(program.end() == 0, "\(program.output)")
        }
        _ = try Program.run(
            "run", "--quiet",
            """
            videosource pace=fast handler=counter options="width=130,height=74,fps=30,frames=600" !
            rawdatapipe handler=framemd5 options="location=\(folder.url.path)/sent"
            """)
        let (sent, received) = (try checksums("sent"), try checksums("received"))
        #expect(received.count >= 30)
        // A live reader may lose frames on a busy machine, but no frame arrives changed, twice, or out of order.
        let places = received.map { sent.firstIndex(of: $0) }
        #expect(!places.contains(nil) && places == Set(places).sorted { $0! < $1! })
        #expect(try files.filter { $0.hasPrefix("mediagraph") } == ["mediagraph", "mediagraph/lock"])
    }

    @Test("SE-4 a reader that keeps many buffers, such as a file's writer, gets all sound of another process")
    func recorded() throws {
        // filesink keeps up to 64 KiB.
        let path = folder.url.appendingPathComponent("bob.wav").path
        let alice = try program(
            """
            mediasession name=call room=r user=alice
            call.audio_bob ! queue max-size-buffers=0 ! wavenc ! filesink location=\(path)
            """)
        #expect(alice.waits { $0.output.contains("\"progress\"") })
        let bob = try program(
            """
            mediasession name=call room=r user=bob
            virtualmic handler=tone options="seconds=5,volume=0.5" ! call.mic
            """)
        #expect(bob.end() == 0)
        #expect(alice.waits { $0.output.contains("\"left\"") })
        alice.send(SIGINT)
        #expect(alice.end() == 0, "\(alice.errors)")
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        // Sound that bob sends before alice knows of him is missing.
        #expect(size > 96_000, "\(size) bytes of 480 000; \(bob.output)")
    }

    @Test("SE-4 a killed process counts as left: its readers are told, and continue when the user returns")
    func killed() throws {
        let alice = try alice("received")
        for round in 1...3 {
            let bob = try bob()
            #expect(alice.waits { $0.statuses(on: true) == round }, "\(alice.output)\(alice.errors)")
            #expect(bob.waits { $0.hasSent(5) })
            bob.send(SIGKILL)
            #expect(alice.waits { $0.statuses(on: false) == round && $0.count("\"left\"") == round })
        }
        alice.send(SIGINT)
        #expect(alice.end() == 0)
        #expect(try checksums("received").count >= 15)
    }

    @Test("SE-4 a suspended reader doesn't affect the sender and other readers")
    func stopped() throws {
        let bob = try bob()
        let stuck = try alice("stuck")
        let carol = try program(
            "mediasession name=call room=r user=carol  call.video_bob ! rawdatapipe name=bob handler=count")
        #expect(stuck.waits { $0.statuses(on: true) == 1 } && carol.waits { $0.statuses(on: true) == 1 })
        stuck.send(SIGSTOP)
        let delivered = carol.framesDelivered
        #expect(carol.waits { $0.framesDelivered >= delivered + 45 }, "\(carol.output)")
        carol.send(SIGINT)
        #expect(carol.end() == 0)
        stuck.send(SIGKILL)
        bob.send(SIGINT)
        #expect(bob.end() == 0)
        #expect(bob.output.contains("\"dropped\":0"))
    }

    @Test("SE-4 a sender that hangs and continues is reported, and the reader's graph runs meanwhile")
    func hangingSender() throws {
        let bob = try bob()
        let alice = try program(
            """
            mediasession name=call room=r user=alice  call.video_bob ! compositor name=mix ! rawdatapipe handler=count
            videotestsrc is-live=true ! video/x-raw,width=64,height=48,framerate=30/1 ! mix.
            """)
        #expect(alice.waits { $0.count("\"stream\"") == 1 }, "\(alice.output)\(alice.errors)")
        bob.send(SIGSTOP)
        #expect(alice.waits { $0.output.contains("\"stalled\":true") }, "\(alice.output)\(alice.errors)")
        let sent = alice.framesDelivered
        #expect(alice.waits { $0.framesDelivered > sent + 30 }, "\(alice.output)")
        bob.send(SIGCONT)
        #expect(alice.waits { $0.output.contains("\"stalled\":false") }, "\(alice.output)\(alice.errors)")
        bob.send(SIGINT)
        #expect(bob.end() == 0)
        alice.send(SIGINT)
        #expect(alice.end() == 0)
    }

    @Test("SH-1 a share waits while a user of another process shares, and begins when that process is killed")
    func oneSharer() throws {
        func sharer(_ user: String) throws -> LiveProgram {
            try program(
                """
                sharesource handler=counter options="width=130,height=74,fps=30" ! call.share
                mediasession name=call room=r user=\(user)
                """)
        }
        let bob = try sharer("bob")
        #expect(bob.waits { $0.output.contains("\"share\"") }, "\(bob.output)\(bob.errors)")
        let carol = try sharer("carol")
        #expect(carol.waits { $0.count("user \\\"bob\\\" is already sharing") > 0 }, "\(carol.output)\(carol.errors)")
        let alice = try program(
            """
            mediasession name=call room=r user=alice
            call.share_bob ! rawdatapipe name=bob handler=count  call.share_carol ! rawdatapipe name=carol handler=count
            """)
        #expect(alice.waits { $0.statuses(on: true) == 1 }, "\(alice.output)\(alice.errors)")
        bob.send(SIGKILL)
        #expect(alice.waits { $0.statuses(on: false) == 1 && $0.statuses(on: true) == 2 }, "\(alice.output)")
        // Two threads report the end of one process and the start of another, so only the order of each pipe's statuses
        // is defined.
        func statuses(of pipe: String) -> [Bool] {
            alice.output.split(separator: "\n")
                .filter { $0.contains("\"event\":\"status\",\"node\":\"\(pipe)\"") }
                .map { $0.contains("\"on\":true") }
        }
        #expect(statuses(of: "bob") == [true, false] && statuses(of: "carol") == [true], "\(alice.output)")
        for program in [alice, carol] {
            program.send(SIGINT)
            #expect(program.end() == 0, "\(program.output)")
        }
    }

    @Test("SE-1 the name of a user of another process is refused until that user has left")
    func sameName() throws {
        let first = try bob()
        #expect(first.waits { $0.hasSent(1) })
        let second = try bob()
        #expect(second.end() != 0)
        #expect(second.output.contains("is already called"), "\(second.output)")
        first.send(SIGKILL)
        _ = first.end()
        let third = try bob()
        #expect(third.waits { $0.hasSent(1) }, "\(third.output)\(third.errors)")
    }

    @Test("SE-1 Unicode forms of a name are equal, also in another process and in a pad's name")
    func sameNameInAnotherForm() throws {
        func user(_ name: String) -> String {
            "mediasession name=call room=r user=\(name) videotestsrc is-live=true ! call.camera"
        }
        let reader = try program(
            "mediasession name=call room=r user=x call.video_Ju_CC_88rgen ! rawdatapipe name=pipe handler=count")
        let first = try program(user("J\u{FC}rgen"))
        #expect(reader.waits { $0.statuses(on: true) == 1 }, "\(reader.output)\(reader.errors)")
        let second = try program(user("Ju\u{308}rgen"))
        #expect(second.end() != 0)
        #expect(second.output.contains("is already called"), "\(second.output)")
        for program in [first, reader] {
            program.send(SIGINT)
            #expect(program.end() == 0)
        }
    }

    @Test("SE-4 files of killed processes are removed when a user joins any room")
    func leftovers() throws {
        let bob = try bob()
        #expect(bob.waits { $0.hasSent(1) })
        bob.send(SIGKILL)
        _ = bob.end()
        #expect(try files.contains { $0.hasSuffix(".socket") } && files.contains { $0.hasSuffix(".name") })
        let run = try Program.run(
            "run", "--quiet",
            "videotestsrc num-buffers=1 ! call.camera  mediasession name=call room=another user=carol",
            environment: ["XDG_RUNTIME_DIR": folder.url.path])
        #expect(run.status == 0, "\(run.errors)")
        #expect(try files == ["mediagraph", "mediagraph/lock"])
    }

    private var files: [String] {
        get throws { try FileManager.default.subpathsOfDirectory(atPath: folder.url.path).sorted() }
    }

    @Test(
        "SE-3 run and doctor report why a program can't meet others, and what to do",
        arguments: [
            ("none/such", "No such file or directory"), ("file", "Not a directory"),
            ("open", "is open to other users (mode 777)"),
            (String(repeating: "long", count: 40), "a socket's path may have at most"),
        ])
    func alone(_ name: String, _ reason: String) throws {
        let path = folder.url.appendingPathComponent(name).path
        if name == "file" { _ = try folder.write("", to: name) }
        if name == "open" || name.hasPrefix("long") {
            try FileManager.default.createDirectory(atPath: "\(path)/mediagraph", withIntermediateDirectories: true)
            let mode = name == "open" ? 0o777 : 0o700
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(path)/mediagraph")
        }
        let environment = ["XDG_RUNTIME_DIR": path]
        let run = try Program.run(
            "run", "--json", "videotestsrc num-buffers=1 ! call.camera  mediasession name=call room=r user=bob",
            environment: environment)
        #expect(run.status == 0, "\(run.errors)")
        let warning = run.output.split(separator: "\n").first { $0.contains("\"warning\"") } ?? ""
        for text in ["is limited to this program", reason, "set XDG_RUNTIME_DIR to"] {
            #expect(warning.contains(text), "\(run.output)")
        }
        let doctor = try Program.run("doctor", environment: environment)
        #expect(doctor.output.contains(reason) && doctor.output.contains("set XDG_RUNTIME_DIR to"), "\(doctor.output)")
    }
}

extension LiveProgram {
    fileprivate func count(_ text: String) -> Int { output.components(separatedBy: text).count - 1 }

    /// Returns how often pipes have reported this status.
    fileprivate func statuses(on: Bool) -> Int {
        output.split(separator: "\n").count { $0.contains("\"status\"") && $0.contains("\"on\":\(on)") }
    }

    private func frames(of node: String) -> Int {
        guard let line = output.split(separator: "\n").last(where: { $0.contains("\"nodes\"") }),
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
            let nodes = object["nodes"] as? [[String: Any]]
        else { return 0 }
        return nodes.first { $0["element"] as? String == node }?["frames"] as? Int ?? 0
    }

    fileprivate var framesSent: Int { frames(of: "videosource") }
    fileprivate var framesDelivered: Int { frames(of: "rawdatapipe") }
    fileprivate func hasSent(_ count: Int) -> Bool { framesSent >= count }
}
