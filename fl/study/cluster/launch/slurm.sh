#!/bin/sh
# A study with a coordinator and workers as a job of Slurm, to be started in a folder
# that all nodes share:
#
#     sbatch --ntasks=9 slurm.sh STUDY --preset quickstart --set seed=2
#
# The first task is the coordinator, the others are workers; what comes after STUDY is
# for `fedfast tune`. A job that was requeued, or is submitted again, resumes the study.
# More workers may join from other jobs: srun fedfast worker --join STUDY/cluster/join.
#
#SBATCH --job-name=fedfast
#SBATCH --ntasks=3
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
study=$1
shift
fedfast=${FEDFAST:-fedfast}
cpus=${SLURM_CPUS_PER_TASK:-1}

srun --exact --nodes=1 --ntasks=1 --cpus-per-task="$cpus" \
	"$fedfast" tune "$@" --study "$study" --workers "$cpus" --cluster 0.0.0.0:0 &
coordinator=$!
srun --exact --ntasks=$((SLURM_NTASKS - 1)) --cpus-per-task="$cpus" \
	"$fedfast" worker --join "$study/cluster/join" --workers "$cpus" &
workers=$!

# Workers end with the study. Where the coordinator failed they would look for it.
if wait "$coordinator"; then
	wait "$workers"
else
	code=$?
	kill "$workers"
	wait "$workers" || true
	exit "$code"
fi
