/* SPDX-License-Identifier: Apache-2.0 */
#include "base/terminal.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum { STYLE_BYTES = 32, PIECE_BYTES = 1 << 20 };

struct stream {
    int fd;
    struct ss_clean clean;
    FILE *file;
};

static struct stream streams[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t wrote = write(fd, bytes, length);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return false;
        }
        bytes += wrote;
        length -= (size_t)wrote;
    }
    return true;
}

static ssize_t write_clean(void *cookie, const char *bytes, size_t length)
{
    struct stream *stream = cookie;
    struct ss_strbuf cleaned;
    /* One byte becomes at most three (U+FFFD); input goes through in pieces of PIECE_BYTES. */
    ss_strbuf_init(&cleaned, 3 * PIECE_BYTES + sizeof stream->clean.held);
    bool written = true;
    for (size_t done = 0; done < length && written;) {
        size_t piece = length - done < PIECE_BYTES ? length - done : PIECE_BYTES;
        ss_strbuf_clear(&cleaned);
        ss_clean_append(&stream->clean, &cleaned, bytes + done, piece);
        written = write_all(stream->fd, cleaned.data, cleaned.length);
        done += piece;
    }
    int error = errno;
    ss_strbuf_fini(&cleaned);
    errno = error;
    return written ? (ssize_t)length : 0; /* 0 reports an error to stdio */
}

static FILE *open_stream(struct stream *stream, int buffering)
{
    if (stream->file == NULL) {
        stream->file = fopencookie(stream, "w", (cookie_io_functions_t){.write = write_clean});
        if (stream->file == NULL) {
            ss_bug("cannot open a stream on descriptor %d", stream->fd);
        }
        setvbuf(stream->file, NULL, buffering, BUFSIZ);
    }
    return stream->file;
}

FILE *ss_stdout(void)
{
    return open_stream(&streams[0], isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF);
}

FILE *ss_stderr(void)
{
    return open_stream(&streams[1], _IONBF);
}

FILE *ss_stdout_data(void)
{
    return isatty(STDOUT_FILENO) == 1 ? ss_stdout() : stdout;
}

static char styles[SS_STYLE_COUNT][STYLE_BYTES];
static pthread_once_t styles_once = PTHREAD_ONCE_INIT;

static void make_styles(void)
{
    static const char *const codes[SS_STYLE_COUNT] = {
        [SS_STYLE_OFF] = "0",          [SS_STYLE_BOLD] = "1",
        [SS_STYLE_DIM] = "2",          [SS_STYLE_RED] = "31",
        [SS_STYLE_BRIGHT_RED] = "91",  [SS_STYLE_BOLD_RED] = "1;31",
        [SS_STYLE_GREEN] = "32",       [SS_STYLE_YELLOW] = "33",
        [SS_STYLE_GREY] = "90",        [SS_STYLE_ON_YELLOW] = "30;43",
        [SS_STYLE_ON_GREEN] = "30;42", [SS_STYLE_ON_CYAN] = "1;30;46",
    };
    for (size_t i = 0; i < SS_STYLE_COUNT; i++) {
        snprintf(styles[i], sizeof styles[i], "%s[%sm", ss_escape(), codes[i]);
    }
}

const char *ss_style(enum ss_style style)
{
    pthread_once(&styles_once, make_styles);
    return styles[style];
}

static ssize_t write_escapes(void *cookie, const char *bytes, size_t length)
{
    FILE *out = cookie;
    for (size_t done = 0; done < length && ferror(out) == 0;) {
        const char *found = memchr(bytes + done, '\033', length - done);
        size_t plain = found != NULL ? (size_t)(found - bytes) - done : length - done;
        fwrite(bytes + done, 1, plain, out);
        done += plain;
        if (found != NULL) {
            fputs(ss_escape(), out);
            done++;
        }
    }
    return ferror(out) == 0 ? (ssize_t)length : 0;
}

FILE *ss_stream_with_own_escapes(FILE *out)
{
    return fopencookie(out, "w", (cookie_io_functions_t){.write = write_escapes});
}
