//! New files and folders under names that nobody else uses.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// Number of attempts to find a free name.
const MAX_ATTEMPTS: usize = 1 << 10;

/// Calls `create` with new paths in a folder until one does not exist yet, and returns this path with what was created
/// there.
///
/// A name begins with the prefix and ends with random digits, which other users cannot predict. `create` must fail if
/// the path exists, as [`std::fs::create_dir`] does.
pub fn create_unique<T>(
    folder: &Path,
    prefix: &str,
    mut create: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..MAX_ATTEMPTS {
        // Each state has new keys, which derive from random numbers of the system.
        let path = folder.join(format!("{prefix}{:016x}", RandomState::new().hash_one(0)));
        match create(&path) {
            Ok(created) => return Ok((path, created)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_names_are_not_used() {
        let mut seen = Vec::new();
        let (path, number) = create_unique(Path::new("home"), "a-", |path| {
            assert!(!seen.contains(&path.to_owned()), "{path:?} twice");
            seen.push(path.to_owned());
            if seen.len() < 5 { Err(io::ErrorKind::AlreadyExists.into()) } else { Ok(seen.len()) }
        })
        .unwrap();
        assert_eq!(number, 5);
        assert!(path.starts_with("home") && path.file_name().unwrap().to_str().unwrap().starts_with("a-"), "{path:?}");
    }

    #[test]
    fn errors_end_the_search() {
        let mut attempts = 0;
        let mut fail = |kind: io::ErrorKind| {
            attempts = 0;
            let found = create_unique(Path::new(""), "", |_| {
                attempts += 1;
                Err::<(), _>(kind.into())
            });
            (found.unwrap_err().kind(), attempts)
        };
        assert_eq!(fail(io::ErrorKind::PermissionDenied), (io::ErrorKind::PermissionDenied, 1));
        assert_eq!(fail(io::ErrorKind::AlreadyExists), (io::ErrorKind::AlreadyExists, MAX_ATTEMPTS));
    }
}
