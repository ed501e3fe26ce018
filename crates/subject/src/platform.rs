//! What differs between operating systems: a process with all that it starts, ended together.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub(super) use implementation::Process;

/// A folder whose files are kept in memory, where the system has one with so many bytes of room.
#[cfg(target_os = "linux")]
pub(super) fn memory_folder(room: u64) -> Option<PathBuf> {
    let folder = PathBuf::from("/dev/shm");
    let system = rustix::fs::statvfs(&folder).ok()?;
    (system.f_bavail.saturating_mul(system.f_frsize) >= room).then_some(folder)
}

/// A folder whose files are kept in memory, of which nothing is known here.
#[cfg(not(target_os = "linux"))]
pub(super) fn memory_folder(_room: u64) -> Option<PathBuf> {
    None
}

/// The bytes that a file takes of its disk or of memory: those of holes are none.
#[cfg(unix)]
pub(super) fn bytes_of(found: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(found).saturating_mul(512)
}

/// The bytes of a file.
#[cfg(not(unix))]
pub(super) fn bytes_of(found: &std::fs::Metadata) -> u64 {
    found.len()
}

/// Opens a file that another process may exchange for a pipe or a link: neither is waited for nor followed.
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

/// The pipes of the protocol, taken away from what runs in this process: what is printed goes to standard error, and nothing
/// can be read.
#[cfg(unix)]
pub(super) fn take_standard_streams() -> io::Result<(File, File)> {
    use rustix::io::fcntl_dupfd_cloexec;
    let input = fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let output = fcntl_dupfd_cloexec(io::stdout(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok((input.into(), output.into()))
}

/// Standard input and output as they are: what runs in this process must not print.
#[cfg(not(unix))]
pub(super) fn take_standard_streams() -> io::Result<(io::Stdin, io::Stdout)> {
    Ok((io::stdin(), io::stdout()))
}

/// A process and all that it has started.
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

    /// The variable that marks what a process starts, however far it goes.
    const MARK: &str = "ONNX_CONFORMANCE_WORKER";

    /// How often what is killed is looked for again, each time after a pause.
    const ROUNDS: u32 = 200;

    /// Whether what a process leaves behind becomes a child of this program.
    const ADOPTS: bool = cfg!(target_os = "linux");

    /// The children of this program.
    static CHILDREN: Mutex<Children> = Mutex::new(Children { own: None, leaders: BTreeSet::new() });

    struct Children {
        /// Those that were there before the first process was started; whoever started them ends them.
        own: Option<BTreeSet<i32>>,
        /// Those that are processes of this module.
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
        /// Starts a process in a group of its own. `mark` tells it from every other of this program.
        pub(crate) fn spawn(mut command: Command, mark: &str) -> io::Result<Process> {
            let mark = format!("{}.{mark}", getpid());
            let mut children = children();
            children.own.get_or_insert_with(adopt_orphans);
            // Nobody takes the new process for one that was left behind: it is known before anybody can look.
            let child = command.process_group(0).env(MARK, &mark).spawn()?;
            let leader = Pid::from_child(&child);
            children.leaders.insert(leader.as_raw_pid());
            drop(children);
            Ok(Process { child, leader, mark: format!("{MARK}={mark}"), status: None })
        }

        /// The ends of its pipes; each can be taken once.
        pub(crate) fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
            (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
        }

        /// Whether it has ended by itself. It is not reaped, so that its group keeps its number.
        pub(crate) fn has_exited(&mut self) -> bool {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            self.status.is_some() || !matches!(waitid(WaitId::Pid(self.leader), options), Ok(None))
        }

        /// The resident memory of all together, in bytes; nothing where it cannot be told.
        pub(crate) fn resident(&self) -> Option<u64> {
            let all = processes();
            let members = self.members(&all);
            all.iter().filter(|entry| members.contains(&entry.pid)).map(resident).reduce(|a, b| Some(a? + b?))?
        }

        /// Kills all that is left of it and returns how the process itself ended.
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

        /// Takes the ended processes off the system's table. Those that somebody else has started are theirs to take.
        fn reap(&mut self, members: &BTreeSet<i32>) {
            let others = members.iter().filter_map(|&pid| Pid::from_raw(pid)).filter(|pid| *pid != self.leader);
            for pid in others {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
            self.status = self.child.try_wait().ok().flatten();
            children().leaders.remove(&self.leader.as_raw_pid());
        }

        /// The process, its group, their descendants, and what has the mark though it has left both. What was left to
        /// this program without any mark belongs to it as well, where there is no other process that could have left it.
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

    /// Makes this program the parent of what its processes leave behind, where the system can, and returns the children
    /// that it has before.
    fn adopt_orphans() -> BTreeSet<i32> {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
        let own = getpid().as_raw_pid();
        processes().iter().filter(|entry| entry.parent == own).map(|entry| entry.pid).collect()
    }
}

/// The table of processes, as Linux shows it.
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

    /// The name, in parentheses, may hold anything; what follows it are fields between spaces.
    fn entry(pid: i32) -> Option<Entry> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        let mut fields = text.rsplit_once(") ")?.1.split(' ');
        let (state, parent, group) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Entry { pid, parent: parent.parse().ok()?, group: group.parse().ok()?, is_zombie: state == "Z" })
    }

    /// In bytes.
    pub(super) fn resident(entry: &Entry) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", entry.pid)).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        // What has just ended has no such line.
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")).map_or(Some(0), |text| text.parse().ok());
        kilobytes.map(|kilobytes: u64| kilobytes * 1024)
    }

    pub(super) fn has_environment(pid: i32, variable: &str) -> bool {
        let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        bytes.split(|byte| *byte == 0).any(|found| found == variable.as_bytes())
    }
}

/// The table of processes, as `ps` shows it.
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

    /// In bytes.
    pub(super) fn resident(entry: &Entry) -> Option<u64> {
        Some(entry.kilobytes * 1024)
    }

    /// Another process's environment cannot be read; what leaves its group and its parent is not found.
    pub(super) fn has_environment(_pid: i32, _variable: &str) -> bool {
        false
    }
}

/// A process in a job, which ends with all that it has started.
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

        /// Jobs are not asked for their memory.
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

/// A process alone, where nothing is known of groups.
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
