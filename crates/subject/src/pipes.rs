//! Threads at the ends of a process's pipes. They are never joined, since a descendant of a killed process may keep a
//! pipe open.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::message::MAX_LINE;

/// Bytes kept from the end of standard error.
const TAIL: usize = 64 << 10;

/// Bytes kept from the beginning of standard error of a request.
const HEAD: usize = 4 << 10;

/// Number of lines that may wait to be processed.
const MAX_WAITING_LINES: usize = 8;

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;

/// Time limit for the end of standard error.
const STDERR_TIMEOUT: Duration = Duration::from_millis(200);

/// Event on standard output.
#[derive(Debug)]
pub(super) enum Line {
    /// A line without its end, and true if more bytes had arrived after it.
    Whole(Vec<u8>, bool),
    /// The start of a line that is longer than allowed. No further event follows.
    TooLong(Vec<u8>),
    /// The end of the stream, with the bytes after the last line.
    End(Vec<u8>),
}

/// Starts a thread that writes each message. It ends with its sender, which also closes the pipe.
pub(super) fn writer(mut pipe: impl Write + Send + 'static) -> Sender<Vec<u8>> {
    let (sender, receiver) = channel::<Vec<u8>>();
    thread::spawn(move || {
        for message in receiver {
            if pipe.write_all(&message).and_then(|()| pipe.flush()).is_err() {
                break;
            }
        }
    });
    sender
}

/// The lines of a process, and the length of the incomplete next one.
pub(super) struct Lines {
    pub(super) lines: Receiver<Line>,
    unfinished: Arc<AtomicUsize>,
}

impl Lines {
    /// Returns the number of bytes received of an incomplete line.
    pub(super) fn unfinished(&self) -> usize {
        self.unfinished.load(Ordering::Relaxed)
    }
}

/// Starts a thread that reads lines.
pub(super) fn reader(pipe: impl Read + Send + 'static) -> Lines {
    let (sender, lines) = sync_channel(MAX_WAITING_LINES);
    let unfinished = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&unfinished);
    thread::spawn(move || read_lines(pipe, &sender, &counter));
    Lines { lines, unfinished }
}

fn read_lines(mut pipe: impl Read, sender: &SyncSender<Line>, unfinished: &AtomicUsize) {
    let (mut line, mut chunk) = (Vec::new(), vec![0; CHUNK]);
    loop {
        let count = match pipe.read(&mut chunk) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let mut rest = chunk.get(..count).unwrap_or_default();
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let (end, behind) = rest.split_at(at);
            rest = behind.get(1..).unwrap_or_default();
            line.extend_from_slice(end);
            let whole = Line::Whole(std::mem::take(&mut line), !rest.is_empty());
            if sender.send(whole).is_err() {
                return;
            }
        }
        line.extend_from_slice(rest);
        unfinished.store(line.len(), Ordering::Relaxed);
        if line.len() > MAX_LINE {
            let _ = sender.send(Line::TooLong(line));
            return;
        }
    }
    let _ = sender.send(Line::End(line));
}

/// Standard error of a process during a request: its beginning and its end.
#[derive(Clone, Default)]
pub(super) struct Tail(Arc<(Mutex<Buffers>, Condvar)>);

#[derive(Default)]
struct Buffers {
    head: Vec<u8>,
    bytes: VecDeque<u8>,
    /// Number of bytes since the request began.
    fresh: usize,
    is_closed: bool,
}

/// Starts a thread that reads everything and keeps both ends.
pub(super) fn drain(mut pipe: impl Read + Send + 'static) -> Tail {
    let tail = Tail::default();
    let filled = tail.clone();
    thread::spawn(move || {
        let mut chunk = vec![0; CHUNK];
        loop {
            match pipe.read(&mut chunk) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(count) => filled.add(chunk.get(..count).unwrap_or_default()),
            }
        }
        filled.buffers().is_closed = true;
        filled.0.1.notify_all();
    });
    tail
}

impl Tail {
    fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, bytes: &[u8]) {
        let mut buffers = self.buffers();
        buffers.fresh = buffers.fresh.saturating_add(bytes.len());
        let room = HEAD.saturating_sub(buffers.head.len());
        buffers.head.extend(bytes.iter().take(room));
        buffers.bytes.extend(bytes);
        let surplus = buffers.bytes.len().saturating_sub(TAIL);
        buffers.bytes.drain(..surplus);
    }

    /// Discards the bytes so far, since a request begins.
    pub(super) fn begin(&self) {
        let mut buffers = self.buffers();
        (buffers.fresh, buffers.head) = (0, Vec::new());
    }

    /// Returns the kept bytes since the request began. It first waits for the last output of a process that has ended.
    pub(super) fn text(&self) -> String {
        let buffers = self.buffers();
        let waited = self.0.1.wait_timeout_while(buffers, STDERR_TIMEOUT, |buffers| !buffers.is_closed);
        let (buffers, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let end = buffers.bytes.iter().copied().skip(buffers.bytes.len().saturating_sub(buffers.fresh));
        let bytes: Vec<u8> = if buffers.fresh > buffers.bytes.len() {
            buffers.head.iter().copied().chain(*b"\n").chain(end).collect()
        } else {
            end.collect()
        };
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &'static [u8]) -> Vec<Line> {
        reader(bytes).lines.iter().collect()
    }

    #[test]
    fn lines_are_split_and_surplus_bytes_are_reported() {
        let lines = lines(b"one\ntwo\nhalf");
        assert!(
            matches!(&lines[..], [Line::Whole(one, true), Line::Whole(two, true), Line::End(half)]
                if one == b"one" && two == b"two" && half == b"half"),
            "{lines:?}"
        );
    }

    #[test]
    fn reading_an_endless_line_is_abandoned() {
        let lines: Vec<Line> = reader(std::io::repeat(b'x')).lines.iter().collect();
        assert!(matches!(&lines[..], [Line::TooLong(line)] if line.len() < MAX_LINE + 2 * CHUNK));
    }

    #[test]
    fn both_ends_of_long_output_are_kept() {
        let much = b"much\n".iter().cycle().take(500_000).copied();
        let all = b"first\n".iter().copied().chain(much).chain(*b"last").collect::<Vec<u8>>();
        let tail = drain(std::io::Cursor::new(all));
        let text = tail.text();
        assert!(text.len() == HEAD + 1 + TAIL, "{}", text.len());
        assert!(text.starts_with("first\nmuch\n") && text.ends_with("\nlast"), "{text}");
        tail.begin();
        assert_eq!(tail.text(), "");
    }
}
