# Made by `make export` from book/5-launch/1-launch.ipynb
"""A training run as Slurm jobs, as many as the time limit makes necessary."""

# book/5-launch/1-launch.ipynb, cell slurm-imports
import re
import shlex
from pathlib import Path

from aiayn.cli.torchrun import (
    ENVIRONMENT,
    SHUTDOWN_SECONDS,
    rendezvous_id,
    torchrun_command,
)
from aiayn.errors import InputError
from aiayn.metrics.bleu_variants import moses_languages

# book/5-launch/1-launch.ipynb, cell slurm-template
# Before the end of a job, for the workers to save in.
SIGNAL_SECONDS = SHUTDOWN_SECONDS + 60

SLURM = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --output=%x-%j.log
#SBATCH --open-mode=append
#SBATCH --nodes={machines}
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task={cpus}
#SBATCH --gpus-per-node={workers}
#SBATCH --time={minutes}
#SBATCH --signal=TERM@{signal}
#SBATCH --requeue

# What your cluster wants besides (--partition, --account) and what makes aiayn known
# comes here, such as:
# source ~/aiayn/.venv/bin/activate

{variables}
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
port=$((20000 + SLURM_JOB_ID % 10000))

# A machine that has nothing to save ends sooner, and must not end the others.
srun --kill-on-bad-exit=0 {torchrun}
code=$?
if ((code != 0 && SECONDS > {nearly})); then
  exec scontrol requeue "$SLURM_JOB_ID"  # the time is over; the next job goes on
fi
((code == 0)) || exit $code
tail -n 1 {metrics} | grep -q validation_perplexity || exit 130  # it was stopped
srun --nodes=1 --ntasks=1 {evaluate}
"""


# book/5-launch/1-launch.ipynb, cell slurm-commands
def start_command(
    train: list[str], out: Path, workers: int, machines: int, restarts: int
) -> str:
    """The line that starts the workers, or has them go on, on each machine."""
    resume = [] if "--resume" in train else ["--resume"]
    program = ["-m", "aiayn", "train", *train, *resume]
    command = torchrun_command(
        program, workers, machines, "first:1", restarts, rendezvous_id(out)
    )
    words = [shlex.quote(word) for word in command]
    if machines > 1:  # the shell is to fill it in
        words[words.index("--rdzv-endpoint") + 1] = '"$first:$port"'
    return " ".join(words)


def score_command(train: list[str], run: str) -> str:
    """The line that scores the model, with all variants of BLEU that its language has.

    Trees, and languages without rules of the Moses tokenizer, go without that flag.
    """
    if "--train" in train:  # files come without a test set
        return "true"
    pair = train[train.index("--pair") + 1] if "--pair" in train else "en-de"
    flag = ["--bleu-variants"] if pair.partition("-")[2] in moses_languages() else []
    return shlex.join(["aiayn", "evaluate", run, *flag, "--json", f"{run}/bleu.json"])


# book/5-launch/1-launch.ipynb, cell slurm-script
def slurm_script(
    train: list[str],
    out: Path,
    workers: int,
    machines: int = 1,
    hours: float = 24.0,
    restarts: int = 3,
) -> str:
    """A batch file for `sbatch` that trains and scores, in as many jobs as it takes.

    Parameters
    ----------
    train : list of str
        What `aiayn train` is told, `--out` among it.
    out : Path
        The run's folder, which all machines see.
    workers, machines, restarts : int
        As for `torchrun_command`; a worker is a GPU.
    hours : float
        For which a job may have the machines.
    """
    if not 1 / 6 <= hours <= 10_000:
        allowed = "ten minutes, to start and to save, to 10,000 hours"
        raise InputError(f"hours={hours}: must be {allowed}")
    minutes = round(60 * hours)
    run = f"./{out}" if str(out).startswith("-") else str(out)  # or it would be a flag
    exports = [f"export {name}={value}" for name, value in ENVIRONMENT.items()]
    return SLURM.format(
        name=re.sub(r"[^A-Za-z0-9._-]+", "-", out.name) or "aiayn",
        machines=machines,
        cpus=4 * workers,
        workers=workers,
        minutes=minutes,
        signal=SIGNAL_SECONDS,
        variables="\n".join(exports),
        torchrun=start_command(train, out, workers, machines, restarts),
        # SLURM may be early, and the script started late.
        nearly=60 * minutes - SIGNAL_SECONDS - 120,
        metrics=shlex.quote(f"{run}/metrics.jsonl"),
        evaluate=score_command(train, run),
    )
