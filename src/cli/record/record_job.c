/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_job.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "record/run/naming.h"

enum system { SLURM, PBS, TORCHRUN };

const char *const ss_record_jobs[] = {"slurm", "pbs", "torchrun", NULL};

/* --- words of a shell ------------------------------------------------------------------------- */

static void put_quoted(const char *word, struct ss_strbuf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        ss_strbuf_append_text(out, word);
        return;
    }
    ss_strbuf_append_char(out, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            ss_strbuf_append_text(out, "'\\''");
        } else {
            ss_strbuf_append_char(out, *word);
        }
    }
    ss_strbuf_append_char(out, '\'');
}

static void put_words(char *const *words, struct ss_strbuf *out)
{
    for (int i = 0; words[i] != NULL; i++) {
        ss_strbuf_append_char(out, ' ');
        put_quoted(words[i], out);
    }
}

/* The options of record, without --print-job. */
static void put_options(const struct ss_arguments *arguments, struct ss_strbuf *out)
{
    for (int i = 0; arguments->command->options[i].long_name != NULL; i++) {
        const struct ss_option *option = &arguments->command->options[i];
        const char *value = arguments->values[i];
        if (value == NULL || strcmp(option->long_name, "print-job") == 0) {
            continue;
        }
        ss_strbuf_append_format(out, " --%s", option->long_name);
        if (option->argument != NULL && value[0] != '\0') {
            ss_strbuf_append_char(out, option->argument[0] == '[' ? '=' : ' ');
            put_quoted(value, out);
        }
    }
}

/* --- parts ------------------------------------------------------------------------------------ */

struct job {
    const char *stepscope;
    const struct ss_arguments *arguments;
    char *const *program;
    struct ss_strbuf name; /* of the program: train */
    bool has_output;       /* the user names it */
    bool is_torchrun;      /* the program is torchrun itself */
    struct ss_strbuf *out;
};

static void put(struct job *job, const char *text)
{
    ss_strbuf_append_text(job->out, text);
}

/* "stepscope record -o train-%j.stepscope OPTIONS --"; `run`: what stands for the run in names. */
static void put_record(struct job *job, const char *run)
{
    put_quoted(job->stepscope, job->out);
    put(job, " record");
    if (!job->has_output) {
        ss_strbuf_append_format(job->out, " -o \"%s-%s.stepscope\"", job->name.data, run);
    }
    put_options(job->arguments, job->out);
    put(job, " --");
}

static void put_report(struct job *job, const char *run)
{
    if (!job->has_output && !ss_arguments_has(job->arguments, "stats")) {
        put(job, "status=$?\n\n# The tables of all ranks, in the output of the job.\n");
        put_quoted(job->stepscope, job->out);
        ss_strbuf_append_format(job->out, " report \"%s-%s.stepscope\"\nexit $status\n",
                                job->name.data, run);
    }
}

static bool has_option(char *const *words, const char *first, const char *second)
{
    for (int i = 1; words[i] != NULL && words[i][0] == '-'; i++) {
        if (strncmp(words[i], first, strlen(first)) == 0 ||
            strncmp(words[i], second, strlen(second)) == 0) {
            return true;
        }
    }
    return false;
}

/* torchrun with what it needs on several nodes, then the words of the program after `skip`. */
static void put_torchrun(struct job *job, int skip, const char *rendezvous, const char *ranks)
{
    char *const *program = job->program;
    if (job->is_torchrun && has_option(program, "--nnodes", "--rdzv")) {
        put_words(program, job->out);
        return;
    }
    put(job, " torchrun");
    put(job, rendezvous);
    if (!job->is_torchrun || !has_option(program, "--nproc-per-node", "--nproc_per_node")) {
        put(job, ranks);
    }
    put_words(program + skip, job->out);
}

/* How many words of `python train.py` torchrun does not want; -1: it is not a Python program. */
static int words_of_python(char *const *program)
{
    const char *slash = strrchr(program[0], '/'), *name = slash != NULL ? slash + 1 : program[0];
    bool is_python = strncmp(name, "python", 6) == 0 && program[1] != NULL &&
                     (program[1][0] != '-' || strcmp(program[1], "-m") == 0);
    return is_python ? 1 : -1;
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void put_slurm(struct job *job)
{
    ss_strbuf_append_format(
        job->out,
        "#!/bin/bash\n"
        "# Records each rank: sbatch job.sh. Options on sbatch's command line precede these.\n"
        "#SBATCH --job-name=%s\n"
        "#SBATCH --nodes=1\n"
        "#SBATCH --ntasks-per-node=%d\n"
        "#SBATCH --output=%%x-%%j.out\n\n",
        job->name.data, job->is_torchrun ? 1 : 2);
    put(job, "export MASTER_ADDR MASTER_PORT=29500\n"
             "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n\n");
    if (job->is_torchrun) {
        put(job, "# One torchrun for each node, whose ranks one recorder follows.\n");
        put(job, "srun --ntasks-per-node=1 ");
        put_record(job, "%j");
        put_torchrun(job, 1,
                     " --nnodes=\"$SLURM_NNODES\" --rdzv-id=\"$SLURM_JOB_ID\""
                     " --rdzv-backend=c10d --rdzv-endpoint=\"$MASTER_ADDR:$MASTER_PORT\"",
                     " --nproc-per-node=\"${SLURM_GPUS_ON_NODE:-2}\"");
    } else {
        put(job, "# One task for each rank, each with a recorder.\nsrun ");
        put_record(job, "%j");
        put_words(job->program, job->out);
    }
    put(job, "\n");
    put_report(job, "$SLURM_JOB_ID");
}

static void put_pbs(struct job *job)
{
    ss_strbuf_append_format(job->out,
                            "#!/bin/bash\n"
                            "# Records each rank: qsub job.sh, after the lines of your site (-A, "
                            "-q) are added.\n"
                            "#PBS -N %s\n"
                            "#PBS -l select=1\n"
                            "#PBS -l walltime=01:00:00\n"
                            "#PBS -j oe\n\n"
                            "cd \"$PBS_O_WORKDIR\" || exit\n"
                            "NODES=$(sort -u \"$PBS_NODEFILE\" | wc -l)\n"
                            "RANKS_PER_NODE=${RANKS_PER_NODE:-%d}\n"
                            "export MASTER_ADDR MASTER_PORT=29500\n"
                            "MASTER_ADDR=$(head -n 1 \"$PBS_NODEFILE\")\n\n",
                            job->name.data, job->is_torchrun ? 1 : 2);
    put(job, "# -ppn is PALS' and MPICH's; Open MPI has --map-by ppr:$RANKS_PER_NODE:node.\n"
             "mpiexec -n $((NODES * RANKS_PER_NODE)) -ppn \"$RANKS_PER_NODE\" ");
    put_record(job, "%j");
    if (job->is_torchrun) {
        put_torchrun(job, 1,
                     " --nnodes=\"$NODES\" --rdzv-id=\"$PBS_JOBID\" --rdzv-backend=c10d"
                     " --rdzv-endpoint=\"$MASTER_ADDR:$MASTER_PORT\"",
                     " --nproc-per-node=\"${NPROC_PER_NODE:-2}\"");
    } else {
        put_words(job->program, job->out);
    }
    put(job, "\n");
    put_report(job, "$PBS_JOBID");
}

static void put_hand(struct job *job)
{
    int skip = job->is_torchrun ? 1 : words_of_python(job->program);
    put(job, "#!/bin/bash\n"
             "# Records all ranks. On one node: bash job.sh. On several, on each of them:\n"
             "#   NNODES=2 MASTER_ADDR=HOST RUN_ID=NAME bash job.sh\n"
             "# where HOST is one of the nodes, and NAME the same on all, as is the folder.\n\n"
             "NNODES=${NNODES:-1}\n"
             "NPROC_PER_NODE=${NPROC_PER_NODE:-2}\n"
             "RUN_ID=${RUN_ID:-$(date +%Y%m%d-%H%M%S)}\n"
             "RENDEZVOUS=${MASTER_ADDR:-localhost}:${MASTER_PORT:-29500}\n\n");
    put_record(job, "$RUN_ID");
    put_torchrun(job, skip > 0 ? skip : 0,
                 " --nnodes=\"$NNODES\" --rdzv-id=\"$RUN_ID\" --rdzv-backend=c10d"
                 " --rdzv-endpoint=\"$RENDEZVOUS\"",
                 skip > 0 ? " --nproc-per-node=\"$NPROC_PER_NODE\""
                          : " --nproc-per-node=\"$NPROC_PER_NODE\" --no-python");
    put(job, "\n");
    put_report(job, "$RUN_ID");
}

void ss_record_job_put(int system, const char *stepscope, const struct ss_arguments *arguments,
                       char *const *program, struct ss_strbuf *out)
{
    enum ss_launcher launcher = ss_name_launcher(program);
    const char *slash = strrchr(program[0], '/');
    struct job job = {.stepscope = stepscope,
                      .arguments = arguments,
                      .program = program,
                      .has_output = ss_arguments_has(arguments, "output"),
                      .is_torchrun =
                          launcher == SS_LAUNCHER_TORCHRUN &&
                          strcmp(slash != NULL ? slash + 1 : program[0], "torchrun") == 0,
                      .out = out};
    ss_strbuf_init(&job.name, 256);
    ss_name_program(program, &job.name);
    if (system == SLURM) {
        put_slurm(&job);
    } else if (system == PBS) {
        put_pbs(&job);
    } else {
        put_hand(&job);
    }
    ss_strbuf_fini(&job.name);
}

/* --- this program ----------------------------------------------------------------------------- */

/* Of the file that the search path finds; false: none. */
static bool find_in_path(const char *name, char found[PATH_MAX])
{
    const char *path = ss_env_get(SS_ENV_PATH);
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        struct ss_strbuf full;
        ss_strbuf_init(&full, PATH_MAX);
        ss_strbuf_append(&full, path, length);
        ss_strbuf_append_format(&full, "/%s", name);
        bool is_there =
            length > 0 && access(full.data, X_OK) == 0 && realpath(full.data, found) != NULL;
        ss_strbuf_fini(&full);
        if (is_there) {
            return true;
        }
        path += length + (path[length] == ':');
    }
    return false;
}

void ss_record_job_own_name(struct ss_strbuf *out)
{
    char own[PATH_MAX], found[PATH_MAX];
    bool has_own = realpath("/proc/self/exe", own) != NULL;
    bool is_found = find_in_path("stepscope", found);
    ss_strbuf_append_text(out,
                          has_own && !(is_found && strcmp(own, found) == 0) ? own : "stepscope");
}
