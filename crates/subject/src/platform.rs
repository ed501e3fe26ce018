//! Differences between operating systems: above all, ending a process together with all its descendants.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub(super) use implementation::Process;

/// Returns a folder in memory, if the system has one with `room` bytes free.
#[cfg(target_os = "linux")]
pub(super) fn memory_folder(room: u64) -> Option<PathBuf> {
    let folder = PathBuf::from("/dev/shm");
    let system = rustix::fs::statvfs(&folder).ok()?;
    (system.f_bavail.saturating_mul(system.f_frsize) >= room).then_some(folder)
}

/// Returns `None`, since no folder in memory is known on this system.
#[cfg(not(target_os = "linux"))]
pub(super) fn memory_folder(_room: u64) -> Option<PathBuf> {
    None
}

/// Returns the bytes that a file occupies on disk or in memory. Holes take none.
#[cfg(unix)]
pub(super) fn bytes_of(found: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(found).saturating_mul(512)
}

/// Returns the size of a file.
#[cfg(not(unix))]
pub(super) fn bytes_of(found: &std::fs::Metadata) -> u64 {
    found.len()
}

/// Opens a file that another process may replace by a pipe or a link, without waiting for a pipe or following a link.
#[cfg(unix)]
pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Opens a file.
#[cfg(not(unix))]
pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Detaches the protocol's pipes from the standard streams. Code in this process then prints to standard error, and
/// reads nothing.
#[cfg(unix)]
pub(super) fn take_standard_streams() -> io::Result<(File, File)> {
    use rustix::io::fcntl_dupfd_cloexec;
    let input = fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let output = fcntl_dupfd_cloexec(io::stdout(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok((input.into(), output.into()))
}

/// Returns standard input and output unchanged: the code in this process must not print.
#[cfg(not(unix))]
pub(super) fn take_standard_streams() -> io::Result<(io::Stdin, io::Stdout)> {
    Ok((io::stdin(), io::stdout()))
}

/// A process and all its descendants.
#[cfg(unix)]
mod implementation {
    use std::collections::BTreeSet;
    use std::io;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    use rustix::process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, kill_process_group, waitid, waitpid,
    };

    use super::table::{Entry, has_environment, processes, resident};

    /// Environment variable that marks the descendants of a process, however far removed.
    const MARK: &str = "ONNX_CONFORMANCE_WORKER";

    /// Number of rounds in which killed processes are looked for again, each after a pause.
    const ROUNDS: u32 = 200;

    /// True if orphans of a process become children of this program.
    const ADOPTS: bool = cfg!(target_os = "linux");

    /// The children of this program.
    static CHILDREN: Mutex<Children> = Mutex::new(Children { own: None, leaders: BTreeSet::new() });

    struct Children {
        /// The children from before the first process was started. Whoever started them ends them.
        own: Option<BTreeSet<i32>>,
        /// The processes started by this module.
        leaders: BTreeSet<i32>,
    }

    fn children() -> MutexGuard<'static, Children> {
        CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) struct Process {
        child: Child,
        leader: Pid,
        mark: String,
        status: Option<ExitStatus>,
    }

    impl Process {
        /// Starts a process in a separate group. `mark` identifies it within this program.
        pub(crate) fn spawn(mut command: Command, mark: &str) -> io::Result<Process> {
            let mark = format!("{}.{mark}", getpid());
            let mut children = children();
            children.own.get_or_insert_with(adopt_orphans);
            // The process is recorded while the list is locked, so that it never counts as an orphan.
            let child = command.process_group(0).env(MARK, &mark).spawn()?;
            let leader = Pid::from_child(&child);
            children.leaders.insert(leader.as_raw_pid());
            drop(children);
            Ok(Process { child, leader, mark: format!("{MARK}={mark}"), status: None })
        }

        /// Returns its pipes. Each can be taken once.
        pub(crate) fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
            (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
        }

        /// Returns true if it has ended by itself. It is not reaped, so that its group keeps its number.
        pub(crate) fn has_exited(&mut self) -> bool {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            self.status.is_some() || !matches!(waitid(WaitId::Pid(self.leader), options), Ok(None))
        }

        /// Returns the resident memory of all members in bytes, or `None` if it is unknown.
        pub(crate) fn resident(&self) -> Option<u64> {
            let all = processes();
            let members = self.members(&all);
            all.iter().filter(|entry| members.contains(&entry.pid)).map(resident).reduce(|a, b| Some(a? + b?))?
        }

        /// Kills all remaining members and returns the exit status of the process itself.
        pub(crate) fn end(&mut self) -> Option<ExitStatus> {
            if self.status.is_some() {
                return self.status;
            }
            let mut seen = BTreeSet::new();
            for round in 0..ROUNDS {
                let _ = kill_process_group(self.leader, Signal::KILL);
                let all = processes();
                let members = self.members(&all);
                let living = all.iter().filter(|entry| members.contains(&entry.pid) && !entry.is_zombie);
                let living: Vec<Pid> = living.filter_map(|entry| Pid::from_raw(entry.pid)).collect();
                for pid in &living {
                    let _ = kill_process(*pid, Signal::KILL);
                }
                seen.extend(members);
                if living.is_empty() && self.has_exited() {
                    self.reap(&seen);
                    break;
                }
                std::thread::sleep(Duration::from_millis(u64::from(round.min(20))));
            }
            self.status
        }

        /// Reaps the ended processes. Only children of this program can be reaped.
        fn reap(&mut self, members: &BTreeSet<i32>) {
            let others = members.iter().filter_map(|&pid| Pid::from_raw(pid)).filter(|pid| *pid != self.leader);
            for pid in others {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
            self.status = self.child.try_wait().ok().flatten();
            children().leaders.remove(&self.leader.as_raw_pid());
        }

        /// Returns the members: the process, its group, their descendants, and orphans with the mark. Orphans of this
        /// program without a mark are also members if no other process could have left them.
        fn members(&self, all: &[Entry]) -> BTreeSet<i32> {
            let (own, leader) = (getpid().as_raw_pid(), self.leader.as_raw_pid());
            let is_orphan = |entry: &Entry| entry.parent == own || entry.parent == 1;
            let known = children();
            let is_alone = ADOPTS && known.leaders.iter().eq([&leader]);
            let is_stray = |entry: &Entry| {
                is_alone && entry.parent == own && !known.own.as_ref().is_some_and(|own| own.contains(&entry.pid))
            };
            let belongs = |entry: &&Entry| {
                entry.pid == leader
                    || entry.group == leader
                    || is_stray(entry)
                    || (is_orphan(entry) && has_environment(entry.pid, &self.mark))
            };
            let mut members: BTreeSet<i32> = all.iter().filter(belongs).map(|entry| entry.pid).collect();
            loop {
                let before = members.len();
                let children: Vec<i32> =
                    all.iter().filter(|entry| members.contains(&entry.parent)).map(|entry| entry.pid).collect();
                members.extend(children);
                members.remove(&own);
                if members.len() == before {
                    return members;
                }
            }
        }
    }

    impl Drop for Process {
        fn drop(&mut self) {
            self.end();
        }
    }

    /// Makes this program the parent of orphans, if the system can, and returns the children that it already has.
    fn adopt_orphans() -> BTreeSet<i32> {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
        let own = getpid().as_raw_pid();
        processes().iter().filter(|entry| entry.parent == own).map(|entry| entry.pid).collect()
    }
}

/// The process table of Linux.
#[cfg(target_os = "linux")]
mod table {
    use std::fs;

    pub(super) struct Entry {
        pub(super) pid: i32,
        pub(super) parent: i32,
        pub(super) group: i32,
        pub(super) is_zombie: bool,
    }

    pub(super) fn processes() -> Vec<Entry> {
        let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
        folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(entry).collect()
    }

    /// Parses a process. The name, in parentheses, may contain any character; the fields after it are separated by
    /// spaces.
    fn entry(pid: i32) -> Option<Entry> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        let mut fields = text.rsplit_once(") ")?.1.split(' ');
        let (state, parent, group) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Entry { pid, parent: parent.parse().ok()?, group: group.parse().ok()?, is_zombie: state == "Z" })
    }

    /// Returns the resident memory in bytes.
    pub(super) fn resident(entry: &Entry) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", entry.pid)).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        // A process that has just ended has no such line.
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")).map_or(Some(0), |text| text.parse().ok());
        kilobytes.map(|kilobytes: u64| kilobytes * 1024)
    }

    pub(super) fn has_environment(pid: i32, variable: &str) -> bool {
        let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        bytes.split(|byte| *byte == 0).any(|found| found == variable.as_bytes())
    }
}

/// The process table of `ps`.
#[cfg(all(unix, not(target_os = "linux")))]
mod table {
    use std::process::Command;

    pub(super) struct Entry {
        pub(super) pid: i32,
        pub(super) parent: i32,
        pub(super) group: i32,
        pub(super) is_zombie: bool,
        kilobytes: u64,
    }

    pub(super) fn processes() -> Vec<Entry> {
        let output = Command::new("ps").args(["-A", "-o", "pid=,ppid=,pgid=,stat=,rss="]).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        text.lines().filter_map(entry).collect()
    }

    fn entry(line: &str) -> Option<Entry> {
        let mut fields = line.split_whitespace();
        let mut number = || fields.next()?.parse().ok();
        let (pid, parent, group) = (number()?, number()?, number()?);
        let is_zombie = fields.next()?.starts_with('Z');
        Some(Entry { pid, parent, group, is_zombie, kilobytes: fields.next()?.parse().ok()? })
    }

    /// Returns the resident memory in bytes.
    pub(super) fn resident(entry: &Entry) -> Option<u64> {
        Some(entry.kilobytes * 1024)
    }

    /// Returns false: another process's environment cannot be read, so a process that leaves group and parent is not
    /// found.
    pub(super) fn has_environment(_pid: i32, _variable: &str) -> bool {
        false
    }
}

/// A process in a job, which ends together with all its descendants.
#[cfg(windows)]
mod implementation {
    use std::io;
    use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

    use process_wrap::std::{ChildWrapper, CommandWrap, JobObject};

    pub(crate) struct Process {
        child: Box<dyn ChildWrapper>,
    }

    impl Process {
        pub(crate) fn spawn(command: Command, _mark: &str) -> io::Result<Process> {
            let mut command = CommandWrap::from(command);
            command.wrap(JobObject);
            Ok(Process { child: command.spawn()? })
        }

        pub(crate) fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
            (self.child.stdin().take(), self.child.stdout().take(), self.child.stderr().take())
        }

        pub(crate) fn has_exited(&mut self) -> bool {
            !matches!(self.child.try_wait(), Ok(None))
        }

        /// Returns `None`: the memory of jobs is not measured.
        pub(crate) fn resident(&self) -> Option<u64> {
            None
        }

        pub(crate) fn end(&mut self) -> Option<ExitStatus> {
            let _ = self.child.start_kill();
            self.child.wait().ok()
        }
    }

    impl Drop for Process {
        fn drop(&mut self) {
            self.end();
        }
    }
}

/// A single process, for systems without known process groups.
#[cfg(not(any(unix, windows)))]
mod implementation {
    use std::io;
    use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

    pub(crate) struct Process {
        child: Child,
    }

    impl Process {
        pub(crate) fn spawn(mut command: Command, _mark: &str) -> io::Result<Process> {
            Ok(Process { child: command.spawn()? })
        }

        pub(crate) fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
            (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
        }

        pub(crate) fn has_exited(&mut self) -> bool {
            !matches!(self.child.try_wait(), Ok(None))
        }

        pub(crate) fn resident(&self) -> Option<u64> {
            None
        }

        pub(crate) fn end(&mut self) -> Option<ExitStatus> {
            let _ = self.child.kill();
            self.child.wait().ok()
        }
    }

    impl Drop for Process {
        fn drop(&mut self) {
            self.end();
        }
    }
}
