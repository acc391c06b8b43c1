#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A training pipeline on several nodes, with a recorder on each: sbatch job.sh [its arguments]
#SBATCH --job-name=pipeline
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --output=pipeline-%j.out

# What runs on each node. With itwinai: torchrun … "$(which itwinai)" exec-pipeline
RUN=${RUN:-torchrun --nnodes=$SLURM_NNODES --nproc-per-node=${SLURM_GPUS_PER_NODE:-1} \
    --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d \
    --rdzv-endpoint=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1):29500}
PIPELINE=${PIPELINE:-pipeline.py}

# One recorder per node: it follows torchrun and its processes, and creates the folder.
srun --cpu-bind=none --ntasks-per-node=1 \
    stepscope record --stats -o "profiles/$SLURM_JOB_ID/node%q{SLURM_NODEID}.pftrace" -- \
    $RUN "$PIPELINE" "$@"

# All nodes together, in the job's output: the lines of the pipeline that lead to the hot functions.
stepscope report --file "profiles/$SLURM_JOB_ID" --library-name pipeline.py --aggregate-leaf-paths
