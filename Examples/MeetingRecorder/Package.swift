// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "MeetingRecorder",
    dependencies: [
        .package(name: "MediaGraph", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        .target(name: "MeetingRecorder", dependencies: [.product(name: "MediaGraph", package: "MediaGraph")]),
        .executableTarget(
            name: "record-meeting",
            dependencies: ["MeetingRecorder", .product(name: "ArgumentParser", package: "swift-argument-parser")]),
        .testTarget(name: "MeetingRecorderTests", dependencies: ["MeetingRecorder"]),
    ],
    swiftLanguageModes: [.v6]
)
