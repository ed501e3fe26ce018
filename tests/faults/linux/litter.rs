//! Files and folders that a faulty adapter leaves in the folders of its requests.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{CWD, IFlags, Mode, OFlags, ioctl_setflags, mkdirat, openat};

/// Number of 1 MB files that exceeds a limit of 100 MB.
const LARGE: usize = 150;

/// Creates litter of a kind. `output` is the path of the output, in a folder of outputs, in the request's folder, in the run's
/// folder.
pub(crate) fn leave(kind: &str, output: &Path) {
    let [_, _, request, run] = output.ancestors().take(4).collect::<Vec<_>>()[..] else {
        panic!("{}", output.display())
    };
    match kind {
        "deep" => deep(request),
        "many" => (0..20_000).for_each(|number| fs::write(request.join(format!("{number}.tmp")), "").unwrap()),
        "large" => large(&request.join("large"), Duration::ZERO),
        "large-beside" => large(&run.join("large"), Duration::ZERO),
        "large-and-slowly" => large(&request.join("large"), Duration::from_millis(20)),
        "holes" => fs::File::create(request.join("holes")).and_then(|file| file.set_len(1 << 40)).unwrap(),
        "nothing" => fs::remove_dir_all(run).unwrap(),
        "the-next" => {
            for number in (0..100).map(|number| run.join(number.to_string())) {
                let _ = fs::create_dir(number);
            }
        }
        "closed" => {
            fs::create_dir_all(request.join("a/b")).unwrap();
            for folder in [&request.join("a/b"), &request.join("a"), request, run] {
                fs::set_permissions(folder, fs::Permissions::from_mode(0o000)).unwrap();
            }
        }
        "fixed" => {
            fs::write(request.join("fixed"), "").unwrap();
            for path in [&request.join("fixed"), request] {
                // Only permitted for some users and file systems.
                let _ = ioctl_setflags(fs::File::open(path).unwrap(), IFlags::IMMUTABLE);
            }
        }
        _ => panic!("no litter is called {kind}"),
    }
}

/// Nests more folders than any stack, path or limit of open files allows.
fn deep(request: &Path) {
    let mut place = openat(CWD, request, OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..20_000 {
        mkdirat(&place, "a", Mode::RWXU).unwrap();
        place = openat(&place, "a", OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
}

/// Writes files of 1 MB.
fn large(folder: &Path, pause: Duration) {
    fs::create_dir_all(folder).unwrap();
    for number in 0..LARGE {
        fs::write(folder.join(number.to_string()), vec![1; 1_000_000]).unwrap();
        sleep(pause);
    }
}
