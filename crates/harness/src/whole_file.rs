//! Files that are written under a temporary name and then renamed, so that a reader finds either the whole old or the
//! whole new file.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onnx_conformance_subject::unique::create_unique;

/// Largest number of links in a row that are followed, as systems do.
const MAX_LINKS: usize = 40;

/// Bytes of a file's name that begin the name of its temporary file. File systems limit the length of names.
const PREFIX: usize = 64;

/// The temporary files of this process that are not in place yet.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the files that are not in place yet, for a process that ends immediately. No new one can start before the
/// returned value is dropped.
#[must_use = "a file that begins later would stay"]
pub fn remove_unfinished() -> impl Sized {
    let unfinished = unfinished();
    for path in unfinished.iter() {
        // There is no remedy if it fails.
        let _ = fs::remove_file(path);
    }
    unfinished
}

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An entry in the list of unfinished files. The file is removed with it, unless the entry is forgotten.
#[derive(Debug)]
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Unfinished {
        unfinished().insert(path.to_owned());
        Unfinished(path.to_owned())
    }

    /// Removes the entry alone: the file is in place, or belongs to somebody else.
    fn forget(mut self) {
        unfinished().remove(&std::mem::take(&mut self.0));
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // An entry without a path was forgotten. If the file cannot be removed, there is no remedy.
        if !self.0.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.0);
            unfinished().remove(&self.0);
        }
    }
}

/// Writes a whole file. If the disk is full, the old file stays unchanged.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::beside(path)?;
    file.write_all(bytes)?;
    file.put().map(drop)
}

/// A file that is not in place yet. Without a call of [`WholeFile::put`] it is removed.
///
/// It gets the permissions of the file that it replaces. A link stays, and its target is replaced. A pipe, a device or
/// another special file is written directly.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    /// The temporary file, and its target.
    places: Option<(Unfinished, PathBuf)>,
}

impl WholeFile {
    /// Starts a file that will be at `path`.
    pub fn beside(path: &Path) -> io::Result<WholeFile> {
        let Some(target) = target(path)? else {
            let file = File::options().write(true).truncate(true).open(path)?;
            return Ok(WholeFile { file, places: None });
        };
        let old = fs::metadata(&target).ok().map(|metadata| metadata.permissions());
        if old.as_ref().is_some_and(fs::Permissions::readonly) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
        }
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = target.file_name().and_then(OsStr::to_str).unwrap_or_default();
        // A new file gets the default permissions of the user's files.
        let make = |path: &Path| {
            // The entry is added before the file exists, so that a signal in between leaves no file.
            let entry = Unfinished::new(path);
            match File::options().read(true).write(true).create_new(true).open(path) {
                Ok(file) => Ok((file, entry)),
                Err(error) => {
                    entry.forget();
                    Err(error)
                }
            }
        };
        let prefix = format!(".{}.", (0..=PREFIX).rev().find_map(|end| name.get(..end)).unwrap_or_default());
        let (_, (file, temporary)) = create_unique(folder, &prefix, make).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot create a file in {}: {error}", folder.display()))
        })?;
        if let Some(old) = old {
            file.set_permissions(old)?;
        }
        Ok(WholeFile { file, places: Some((temporary, target)) })
    }

    /// Returns the file in its current state.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Moves the file to its place and returns it.
    pub fn put(mut self) -> io::Result<File> {
        self.file.flush()?;
        if let Some((temporary, target)) = self.places {
            self.file.sync_all()?;
            fs::rename(&temporary.0, &target)?;
            temporary.forget();
        }
        Ok(self.file)
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Follows links. Returns `None` for a special file that cannot be replaced.
fn target(path: &Path) -> io::Result<Option<PathBuf>> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Ok(None);
    }
    let mut place = path.to_owned();
    for _ in 0..MAX_LINKS {
        // A link there, such as the target of /dev/stdout, leads to an open file, whatever its path.
        if place.starts_with("/proc") {
            return Ok(None);
        }
        let Ok(next) = fs::read_link(&place) else { return Ok(Some(place)) };
        place = place.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other("the link is broken"))
}

/// Locks the folder of a file until the value is dropped; other processes that lock it wait. Returns `None` if the
/// system or the file system cannot lock folders, as on Windows.
pub fn lock_folder(path: &Path) -> Option<File> {
    let folder = target(path).ok()??.parent()?.to_owned();
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the sorted names of the entries of a folder.
    pub(crate) fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.xml");
        write_whole(&path, b"old").unwrap();
        let mut file = WholeFile::beside(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.put().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        drop(WholeFile::beside(&path).unwrap());
        assert_eq!(names(folder.path()), ["a.xml"]);
    }

    #[test]
    fn a_file_that_cannot_be_replaced_stays() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_whole(&folder.path().join("none/a"), b"").unwrap_err().to_string();
        assert!(error.starts_with("cannot create a file in ") && error.contains("none: "), "{error}");
        assert!(write_whole(folder.path(), b"").is_err());
        let path = folder.path().join("a");
        write_whole(&path, b"old").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        assert_eq!(write_whole(&path, b"new").unwrap_err().to_string(), "the file is read-only");
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"old".to_vec(), vec!["a".to_owned()]));
    }

    #[test]
    fn a_long_name_is_shortened_beside_its_place() {
        let folder = tempfile::tempdir().unwrap();
        // Two bytes per character, so that the cut may fall within a character.
        for name in ["a".repeat(250), format!("a{}", "é".repeat(124))] {
            write_whole(&folder.path().join(&name), b"new").unwrap();
            assert_eq!(names(folder.path()), std::slice::from_ref(&name));
            fs::remove_file(folder.path().join(&name)).unwrap();
        }
    }

    #[test]
    fn a_file_is_known_as_unfinished_until_it_is_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let begin = || WholeFile::beside(&folder.path().join("a")).unwrap();
        let entry = |file: &WholeFile| file.places.as_ref().unwrap().0.0.clone();
        let (dropped, put) = (begin(), begin());
        let entries = [entry(&dropped), entry(&put)];
        assert!(entries.iter().all(|entry| unfinished().contains(entry) && entry.exists()));
        drop(dropped);
        put.put().unwrap();
        assert!(!entries.iter().any(|entry| unfinished().contains(entry) || entry.exists()));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        fs::create_dir(at("real")).unwrap();
        fs::write(at("plain"), "").unwrap();
        symlink("real/a", at("link")).unwrap();
        write_whole(&at("link"), b"1").unwrap();
        assert_eq!((fs::read(at("real/a")).unwrap(), mode("real/a")), (b"1".to_vec(), mode("plain")));
        fs::set_permissions(at("real/a"), fs::Permissions::from_mode(0o640)).unwrap();
        write_whole(&at("link"), b"2").unwrap();
        assert_eq!((fs::read(at("real/a")).unwrap(), mode("real/a")), (b"2".to_vec(), 0o640));
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        symlink("loop", at("loop")).unwrap();
        assert_eq!(write_whole(&at("loop"), b"").unwrap_err().to_string(), "the link is broken");
        assert_eq!(names(&at("real")), ["a"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_written_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join("a")).unwrap();
        let error = write_whole(&folder.path().join("a"), b"new").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        write_whole(Path::new("/dev/null"), b"new").unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_is_held_by_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock_folder(&folder.path().join("a")).unwrap();
        let other = File::open(folder.path()).unwrap();
        assert!(other.try_lock().is_err());
        drop(held);
        other.try_lock().unwrap();
    }
}
