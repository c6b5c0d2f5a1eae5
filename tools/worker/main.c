/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-worker: compiles for a process that started it, and for nobody else. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jit/worker.h"

int main(void) {
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size)) {
        fputs("kiln-worker is started by the Kiln library, where compiles have a time limit\n", stderr);
        return 2;
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* its crashes are told, and are nobody's files */
    prctl(PR_SET_DUMPABLE, 0);
    if (syscall(SYS_close_range, 3, ~0U, 0)) /* whatever the process that started it left open */
        for (int fd = 3; fd < 1024; fd++) close(fd);
    return kiln__worker_serve(STDIN_FILENO);
}
