// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "TestingAHandler",
    dependencies: [.package(name: "MediaGraph", path: "../..")],
    targets: [
        .target(name: "Timelapse", dependencies: [.product(name: "MediaGraph", package: "MediaGraph")]),
        .testTarget(
            name: "TimelapseTests",
            dependencies: ["Timelapse", .product(name: "MediaGraphTesting", package: "MediaGraph")]),
    ],
    swiftLanguageModes: [.v6]
)
