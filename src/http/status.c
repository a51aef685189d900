/* status.c - what numbers are called. */
#include "server.h"

#include "banned.h"

const char *weir__http_method_name(enum weir__http_method method)
{
    static const char *const names[] = {
        [WEIR__HTTP_GET] = "GET",       [WEIR__HTTP_HEAD] = "HEAD",
        [WEIR__HTTP_PUT] = "PUT",       [WEIR__HTTP_POST] = "POST",
        [WEIR__HTTP_DELETE] = "DELETE", [WEIR__HTTP_OPTIONS] = "OPTIONS",
    };
    return names[method];
}

const char *weir__status_text(unsigned status)
{
    switch (status) {
#define STATUS(number, text)                                                                       \
    case number:                                                                                   \
        return text;
        STATUS(100, "Continue")
        STATUS(200, "OK")
        STATUS(201, "Created")
        STATUS(202, "Accepted")
        STATUS(204, "No Content")
        STATUS(206, "Partial Content")
        STATUS(301, "Moved Permanently")
        STATUS(302, "Found")
        STATUS(303, "See Other")
        STATUS(304, "Not Modified")
        STATUS(307, "Temporary Redirect")
        STATUS(308, "Permanent Redirect")
        STATUS(400, "Bad Request")
        STATUS(401, "Unauthorized")
        STATUS(403, "Forbidden")
        STATUS(404, "Not Found")
        STATUS(405, "Method Not Allowed")
        STATUS(406, "Not Acceptable")
        STATUS(408, "Request Timeout")
        STATUS(409, "Conflict")
        STATUS(410, "Gone")
        STATUS(411, "Length Required")
        STATUS(412, "Precondition Failed")
        STATUS(413, "Content Too Large")
        STATUS(414, "URI Too Long")
        STATUS(415, "Unsupported Media Type")
        STATUS(416, "Range Not Satisfiable")
        STATUS(417, "Expectation Failed")
        STATUS(422, "Unprocessable Content")
        STATUS(428, "Precondition Required")
        STATUS(429, "Too Many Requests")
        STATUS(431, "Request Header Fields Too Large")
        STATUS(500, "Internal Server Error")
        STATUS(501, "Not Implemented")
        STATUS(502, "Bad Gateway")
        STATUS(503, "Service Unavailable")
        STATUS(504, "Gateway Timeout")
        STATUS(505, "HTTP Version Not Supported")
        STATUS(507, "Insufficient Storage")
#undef STATUS
    default:
        return "";
    }
}
