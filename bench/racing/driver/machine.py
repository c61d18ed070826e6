"""What the driver asks of this machine."""

import os
import platform
import resource
import time


def cpu_seconds(pid):
    """User and system time of a process so far, with its threads that have ended: its own clock, as clock_getcpuclockid has it,
    to the microsecond. /proc counts in hundredths of a second, too coarse for half a second."""
    process_clock = 2  # of the scheduler, for all threads
    return time.clock_gettime((~pid << 3) | process_clock)


def memory_and_threads(pid):
    """Resident bytes, and the number of threads."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmRSS"].split()[0]) * 1024, int(fields["Threads"])


def pinned(core, pin, files=None):
    """What a child does before it becomes its program: stays on one core, if there are two; may open many files."""

    def prepare():
        if pin and os.cpu_count() > core:
            os.sched_setaffinity(0, {core})
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    return prepare


def description():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores; Linux {platform.release()}"


def load():
    return os.getloadavg()[0]
