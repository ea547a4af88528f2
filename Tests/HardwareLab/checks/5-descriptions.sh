# GR-7: the descriptions in Pipelines/ that use devices run with the kernel's devices.
# shellcheck shell=bash

# description NAME: runs a description of Pipelines/ with the USB camera and a virtual camera.
description() {
    plug_in_usb_camera
    load v4l2loopback video_nr=60 card_label=Virtual exclusive_caps=1
    LAB=1 CAMERA=$(usb_camera_path) MICROPHONE=hw:Camera VIRTUAL_CAMERA=/dev/video60 MEDIAGRAPH=$(command -v mediagraph) \
        /project/scripts/test-pipelines "/project/Pipelines/$1.pipeline"
}
privacy_camera() { description privacy-camera; }
camera_mjpeg() {
    description camera-mjpeg
    mediagraph run --quiet /project/Pipelines/camera-mjpeg.pipeline CAMERA="v4l2src device=$(usb_camera_path)" \
        SHEET=/share/contact-sheet.png --frames 60
}
camera_and_microphone() { description camera-and-microphone; }
record_camera() { description record-camera; }
virtual_camera_description() { description virtual-camera; }
check "DV-1 GR-7 privacy-camera.pipeline runs with a USB camera" privacy_camera
check "DV-1 GR-7 camera-mjpeg.pipeline runs with a USB camera" camera_mjpeg
check "DV-1 GR-7 camera-and-microphone.pipeline runs with a USB camera and its microphone" camera_and_microphone
check "DV-1 GR-7 record-camera.pipeline runs with a USB camera and its microphone" record_camera
check "DV-3 GR-7 virtual-camera.pipeline runs with v4l2loopback" virtual_camera_description
