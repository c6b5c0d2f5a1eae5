/* Small named records beside the entries: "KILNREC1", size u64, bytes, XXH3-128 of all before it. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "cache/bytes.h"
#include "cache/checksum.h"
#include "cache/folder.h"

static const char magic[8] = {'K', 'I', 'L', 'N', 'R', 'E', 'C', '1'};

enum { header_size = sizeof magic + 8, max_record = 4096, max_file = header_size + max_record + KILN__CHECKSUM_SIZE };

static bool name_is_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return length > 0 && name[length] == '\0' && length < 64;
}

/* The file's first bytes, at most capacity of them; -1 where it cannot be read. */
static ssize_t read_file(int fd, uint8_t *bytes, size_t capacity)
{
    size_t size = 0;
    while (size < capacity) {
        ssize_t got = pread(fd, bytes + size, capacity - size, (off_t)size);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        size += (size_t)got;
    }
    return (ssize_t)size;
}

static bool is_record(const uint8_t *file, ssize_t size)
{
    return size >= header_size + KILN__CHECKSUM_SIZE && memcmp(file, magic, sizeof magic) == 0 &&
           kiln__get_u64(file + sizeof magic) == (uint64_t)(size - header_size - KILN__CHECKSUM_SIZE) &&
           kiln__checksum_holds(file, (size_t)size);
}

bool kiln__disk_record_get(kiln__disk *disk, const char *name, void *bytes, size_t *size)
{
    uint8_t file[max_file + 1];
    struct stat status;
    bool found = false;
    int folder = name_is_valid(name) ? kiln__folder_open(disk, KILN__RECORDS, false) : -1;
    int fd = folder >= 0 ? kiln__folder_open_file(disk, folder, name, &status) : -1;
    if (fd >= 0) {
        ssize_t length = read_file(fd, file, sizeof file);
        if (is_record(file, length)) {
            size_t content = (size_t)length - header_size - KILN__CHECKSUM_SIZE;
            found = content <= *size;
            if (found) {
                kiln__put_bytes(bytes, file + header_size, content);
                *size = content;
            }
        } else if (length >= 0) {
            kiln__folder_set_aside(folder, name, &status);
        }
        close(fd);
    }
    if (folder >= 0)
        close(folder);
    return found;
}

bool kiln__disk_record_put(kiln__disk *disk, const char *name, const void *bytes, size_t size)
{
    if (!name_is_valid(name) || size > max_record)
        return false;
    int folder = kiln__folder_open(disk, KILN__RECORDS, true);
    if (folder < 0)
        return false;
    uint8_t file[max_file];
    uint8_t *at = kiln__put_bytes(file, magic, sizeof magic);
    at = kiln__put_u64(at, size);
    at = kiln__put_bytes(at, bytes, size);
    kiln__checksum(file, (size_t)(at - file), at);
    bool done = kiln__folder_publish(disk, folder, name, file, (size_t)(at - file) + KILN__CHECKSUM_SIZE);
    close(folder);
    return done;
}
