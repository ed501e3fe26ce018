//! Removal of a folder with all its contents, however deep, wide or protected.

use std::io;
use std::path::Path;
use std::time::Instant;

/// Removes a file, a link or a folder with all its contents. Links are not followed. A missing path counts as removed.
///
/// Folders within folders are moved up before they are emptied, so that few folders are open at a time and every path
/// is a single name. Protection from the owner is lifted first. The removal stops at `until`, since another process may
/// fill a folder as fast as it is emptied.
pub fn remove(path: &Path, until: Instant) -> io::Result<()> {
    implementation::remove(path, until)
}

#[cfg(unix)]
mod implementation {
    use std::ffi::{CStr, CString};
    use std::hash::{BuildHasher as _, RandomState};
    use std::io;
    use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
    use std::path::Path;
    use std::time::Instant;

    use rustix::fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, fchmod, fstat, openat, renameat, statat, unlinkat,
    };
    use rustix::io::Errno;

    const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    pub(super) fn remove(path: &Path, until: Instant) -> io::Result<()> {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                let options = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
                match openat(CWD, parent, options, Mode::empty()) {
                    Err(Errno::NOENT) => return Ok(()),
                    parent => parent?,
                }
            }
            _ => openat(CWD, c".", FOLDER, Mode::empty())?,
        };
        let name = path.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
        let name = CString::new(name.as_encoded_bytes())?;
        let entry = Entry { parent: parent.as_fd(), name: &name };
        if !entry.is_folder(FileType::Unknown) {
            return Ok(entry.unlink()?);
        }
        let mut removal =
            Removal { until, moved_up: 0, emptied: 0, salt: RandomState::new().hash_one(&name), removed: 0 };
        removal.folder(&entry)
    }

    /// An entry of an open folder.
    struct Entry<'a> {
        parent: BorrowedFd<'a>,
        name: &'a CStr,
    }

    impl Entry<'_> {
        /// Returns true if it is a folder, and not a link to one. `known` is the type in the directory listing.
        fn is_folder(&self, known: FileType) -> bool {
            if known != FileType::Unknown {
                return known == FileType::Directory;
            }
            let found = statat(self.parent, self.name, AtFlags::SYMLINK_NOFOLLOW);
            found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
        }

        /// Removes an entry that is not a folder.
        fn unlink(&self) -> Result<(), Errno> {
            self.with_protection_lifted(|| unlinkat(self.parent, self.name, AtFlags::empty()))
        }

        /// Removes an empty folder.
        fn remove_empty(&self) -> Result<(), Errno> {
            self.with_protection_lifted(|| unlinkat(self.parent, self.name, AtFlags::REMOVEDIR))
        }

        /// Moves the entry into another folder.
        fn move_up(&self, into: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
            self.with_protection_lifted(|| renameat(self.parent, self.name, into, name))
        }

        /// Acts on the entry. If its protection prevents that, removes the protection and tries again.
        fn with_protection_lifted(&self, act: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
            match act() {
                Err(Errno::NOENT) => Ok(()),
                Err(Errno::PERM | Errno::ACCESS) => {
                    self.unprotect();
                    match act() {
                        Err(Errno::NOENT) => Ok(()),
                        done => done,
                    }
                }
                done => done,
            }
        }

        /// Opens the folder, and makes it readable and writable for its owner.
        fn open(&self) -> Result<OwnedFd, Errno> {
            let folder = match openat(self.parent, self.name, FOLDER, Mode::empty()) {
                Err(Errno::ACCESS) => {
                    self.unprotect();
                    openat(self.parent, self.name, FOLDER, Mode::empty())?
                }
                folder => folder?,
            };
            make_changeable(folder.as_fd());
            let mode = Mode::from_raw_mode(fstat(&folder)?.st_mode);
            if !mode.contains(Mode::RWXU) {
                fchmod(&folder, mode | Mode::RWXU)?;
            }
            Ok(folder)
        }

        /// Lifts protection that keeps the owner from removing the entry. If this fails, so does the removal.
        fn unprotect(&self) {
            let file = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            if let Ok(file) = openat(self.parent, self.name, file, Mode::empty()) {
                make_changeable(file.as_fd());
            }
            // Links have no mode of their own. A user who replaces the folder by a link now could change its target
            // anyway.
            if self.is_folder(FileType::Unknown) {
                let _ = chmodat(self.parent, self.name, Mode::RWXU, AtFlags::empty());
            }
        }
    }

    /// Clears the flags that forbid changes of a file or a folder.
    #[cfg(target_os = "linux")]
    fn make_changeable(file: BorrowedFd<'_>) {
        use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
        let fixed = IFlags::IMMUTABLE | IFlags::APPEND;
        if let Ok(flags) = ioctl_getflags(file)
            && flags.intersects(fixed)
        {
            let _ = ioctl_setflags(file, flags - fixed);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn make_changeable(_file: BorrowedFd<'_>) {}

    /// The removal of one folder. Folders within it are moved up to its top level, under numbered names.
    struct Removal {
        until: Instant,
        /// Number of folders moved up.
        moved_up: u64,
        /// Number of these that have been emptied.
        emptied: u64,
        /// A part of their names that nobody can predict.
        salt: u64,
        /// Number of entries removed.
        removed: u64,
    }

    impl Removal {
        fn folder(&mut self, entry: &Entry<'_>) -> io::Result<()> {
            loop {
                match entry.remove_empty() {
                    Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                    done => return Ok(done?),
                }
                let folder = match entry.open() {
                    Err(Errno::NOENT) => return Ok(()),
                    folder => folder?,
                };
                let before = self.removed;
                let emptied = self.empty(folder.as_fd());
                if self.removed == before {
                    // Nothing was removed, so another pass would find the same entries.
                    emptied?;
                    return entry.remove_empty().map_err(io::Error::from);
                }
                self.check_time()?;
            }
        }

        /// Removes the entries listed in the folder as far as possible, and returns the first error.
        fn empty(&mut self, folder: BorrowedFd<'_>) -> io::Result<()> {
            let mut result = Ok(());
            for found in Dir::read_from(folder)? {
                let found = found?;
                let entry = Entry { parent: folder, name: found.file_name() };
                if matches!(entry.name.to_bytes(), b"." | b"..") {
                    continue;
                }
                let removed =
                    if entry.is_folder(found.file_type()) { self.remove_inner(&entry) } else { self.file(&entry) };
                result = result.and(removed.map_err(io::Error::from));
                while self.emptied < self.moved_up {
                    let name = self.name(self.emptied);
                    self.emptied += 1;
                    let removed = self.remove_inner(&Entry { parent: folder, name: &name });
                    result = result.and(removed.map_err(io::Error::from));
                    self.check_time()?;
                }
                self.check_time()?;
            }
            result
        }

        fn file(&mut self, entry: &Entry<'_>) -> Result<(), Errno> {
            entry.unlink()?;
            self.removed += 1;
            Ok(())
        }

        /// Removes a folder within the removed one. Its own subfolders are moved up next to it.
        fn remove_inner(&mut self, entry: &Entry<'_>) -> Result<(), Errno> {
            if entry.remove_empty().is_err() {
                let folder = match entry.open() {
                    Err(Errno::NOENT) => return Ok(()),
                    folder => folder?,
                };
                for found in Dir::read_from(&folder)? {
                    let found = found?;
                    let inner = Entry { parent: folder.as_fd(), name: found.file_name() };
                    if matches!(inner.name.to_bytes(), b"." | b"..") {
                        continue;
                    }
                    if !inner.is_folder(found.file_type()) {
                        self.file(&inner)?;
                    } else if inner.remove_empty().is_err() {
                        inner.move_up(entry.parent, &self.name(self.moved_up))?;
                        self.moved_up += 1;
                    }
                    if Instant::now() > self.until {
                        break;
                    }
                }
                entry.remove_empty()?;
            }
            self.removed += 1;
            Ok(())
        }

        fn name(&self, number: u64) -> CString {
            CString::new(format!("removed-{:016x}-{number}", self.salt)).unwrap_or_default()
        }

        fn check_time(&self) -> io::Result<()> {
            if Instant::now() <= self.until {
                return Ok(());
            }
            Err(io::Error::new(io::ErrorKind::TimedOut, "it contains more than could be removed within the time limit"))
        }
    }
}

/// Removal by the standard library, which on Windows does not recurse.
#[cfg(not(unix))]
mod implementation {
    use std::fs;
    use std::io;
    use std::path::Path;
    use std::time::Instant;

    pub(super) fn remove(path: &Path, _until: Instant) -> io::Result<()> {
        let removed = match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::Duration;

    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

    /// Creates a folder in memory if possible, since disks are slow for many folders.
    fn temporary() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
    }

    /// Removes the entries that `make` creates in a folder, and checks that `kept/file` outside it remains.
    fn check(make: impl FnOnce(&Path)) {
        let home = temporary();
        let (kept, folder) = (home.path().join("kept/file"), home.path().join("folder"));
        fs::create_dir(home.path().join("kept")).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(&kept, "").unwrap();
        make(&folder);
        remove(&folder, Instant::now() + Duration::from_secs(60)).unwrap();
        assert!(!folder.exists() && kept.exists());
    }

    #[test]
    fn folders_nest_deeper_than_a_stack_or_a_path_is() {
        check(|folder| {
            let mut place = openat(CWD, folder, OFlags::DIRECTORY, Mode::empty()).unwrap();
            for depth in 0..20_000 {
                mkdirat(&place, "a", Mode::RWXU).unwrap();
                if depth % 1_000 == 0 {
                    mkdirat(&place, "b", Mode::RWXU).unwrap();
                    mkdirat(&place, "b/c", Mode::RWXU).unwrap();
                }
                place = openat(&place, "a", OFlags::DIRECTORY, Mode::empty()).unwrap();
            }
        });
    }

    #[test]
    fn many_entries_of_every_kind_are_removed() {
        check(|folder| {
            for number in 0..500 {
                fs::create_dir_all(folder.join(format!("{number}/a/b"))).unwrap();
                fs::write(folder.join(format!("{number}/a/file")), "").unwrap();
            }
            let pipe = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap();
            let socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
            assert!(pipe.success() && socket.local_addr().is_ok());
        });
    }

    #[test]
    fn links_are_not_followed() {
        check(|folder| {
            symlink("../kept", folder.join("folder")).unwrap();
            symlink("../kept/file", folder.join("file")).unwrap();
            fs::create_dir(folder.join("a")).unwrap();
            symlink("../../kept", folder.join("a/b")).unwrap();
        });
        check(|folder| {
            fs::remove_dir(folder).unwrap();
            symlink("kept", folder).unwrap();
        });
    }

    #[test]
    fn protected_entries_are_removed() {
        check(|folder| {
            fs::create_dir_all(folder.join("a/b/c")).unwrap();
            fs::write(folder.join("a/b/file"), "").unwrap();
            for name in ["a/b/file", "a/b/c", "a/b", "a", ""] {
                fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o000)).unwrap();
            }
        });
    }

    #[test]
    fn the_removal_ends_at_its_deadline() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("folder");
        fs::create_dir_all(folder.join("a/b")).unwrap();
        let error = remove(&folder, Instant::now().checked_sub(Duration::from_secs(1)).unwrap()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        remove(&folder, Instant::now() + Duration::from_secs(60)).unwrap();
        remove(&folder, Instant::now() + Duration::from_secs(60)).unwrap();
    }
}
