/// The nodes' names in descriptions, which are the factory names of their elements.
package enum NodeName {
    package static let videoSource = "videosource"
    package static let preprocessor = "preprocessor"
    package static let alphaChannel = "alphachannel"
    package static let rawDataPipe = "rawdatapipe"
    package static let frameObserver = "frameobserver"
    package static let virtualSpeaker = "virtualspeaker"
    package static let virtualMic = "virtualmic"
    package static let shareSource = "sharesource"
    package static let mediaSession = "mediasession"
    package static let deviceSource = "devicesource"
    package static let upright = "upright"
}
