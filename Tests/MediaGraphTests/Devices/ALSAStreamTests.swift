import Testing

@testable import MediaGraphDevices

@Suite struct ALSAStreamTests {
    @Test("DV-4 the kernel's list of sound cards gives each device's directions and its card's name")
    func list() {
        let streams = ALSAStream.list(
            streams: """
                00-00: USB Audio : USB Audio : capture 1
                02-03: Loopback PCM : Loopback PCM : playback 8 : capture 8
                05-00: no direction : none
                nonsense
                """,
            cards: """
                 0 [Camera         ]: USB-Audio - Lab USB Camera
                                      Lab Lab USB Camera at usb-vhci_hcd.0-1, high speed
                 2 [Loopback       ]: Loopback - Loopback - 1
                """)
        #expect(
            streams == [
                ALSAStream(card: 0, device: 0, kind: .microphone, name: "Lab USB Camera"),
                ALSAStream(card: 2, device: 3, kind: .microphone, name: "Loopback - 1"),
                ALSAStream(card: 2, device: 3, kind: .speaker, name: "Loopback - 1"),
            ])
        #expect(streams.map(\.text) == ["alsasrc device=hw:0,0", "alsasrc device=hw:2,3", "alsasink device=hw:2,3"])
        #expect(streams.map(\.file) == ["/dev/snd/pcmC0D0c", "/dev/snd/pcmC2D3c", "/dev/snd/pcmC2D3p"])
    }
}
