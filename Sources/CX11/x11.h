#pragma once

// Of Xlib.h: what a handler of errors is shown. libX11 is loaded at run time, where an element has need of it.
typedef struct {
    int type;
    void *display;
    unsigned long resource;
    unsigned long serial;
    unsigned char error_code, request_code, minor_code;
} CXErrorEvent;
