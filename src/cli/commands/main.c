/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "cli/commands/command_line.h"

int main(int argc, char **argv)
{
    ss_alloc_return_blocks();
    return ss_command_line_run(argc, argv);
}
