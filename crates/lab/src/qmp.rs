//! QEMU's control channel: commands one at a time, events as they come.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

/// A connection to one QEMU.
#[derive(Debug)]
pub(crate) struct Monitor {
    stream: UnixStream,
    unread: Vec<u8>,
}

/// What came from QEMU.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// An event by its name, with its data.
    Event(String, Value),
    /// The result of the last command.
    Return(Value),
    /// The last command's error.
    Error(String),
}

impl Monitor {
    /// Takes over a connected socket.
    pub(crate) fn new(stream: UnixStream) -> Monitor {
        Monitor { stream, unread: Vec::new() }
    }

    /// Sends a command.
    pub(crate) fn send(&mut self, command: &str, arguments: Value) -> io::Result<()> {
        let message = if arguments.is_null() {
            json!({ "execute": command })
        } else {
            json!({ "execute": command, "arguments": arguments })
        };
        writeln!(self.stream, "{message}")
    }

    /// Reads what is there, waiting for the first byte. `None` when QEMU has gone.
    pub(crate) fn receive(&mut self) -> io::Result<Option<Vec<Message>>> {
        let mut buffer = [0; 16 << 10];
        let count = match self.stream.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(error),
        };
        self.unread.extend_from_slice(&buffer[..count]);
        let mut messages = Vec::new();
        while let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            messages.extend(decode(&line));
        }
        Ok(Some(messages))
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Decodes a line; `None` for the greeting and for anything that is not JSON.
fn decode(line: &[u8]) -> Option<Message> {
    let value: Value = serde_json::from_slice(line).ok()?;
    if let Some(name) = value.get("event").and_then(Value::as_str) {
        let data = value.get("data").cloned().unwrap_or(Value::Null);
        return Some(Message::Event(name.to_owned(), data));
    }
    if let Some(error) = value.get("error") {
        let text = error.get("desc").and_then(Value::as_str).unwrap_or("no description");
        return Some(Message::Error(text.to_owned()));
    }
    value.get("return").cloned().map(Message::Return)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_being_cut_in_pieces() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut monitor = Monitor::new(ours);
        theirs.write_all(b"{\"QMP\": {}}\r\n{\"return\": {\"status\"").unwrap();
        assert_eq!(monitor.receive().unwrap(), Some(vec![]));
        theirs.write_all(b": \"paused\"}}\r\n{\"event\": \"STOP\"}\r\n").unwrap();
        let messages = monitor.receive().unwrap().unwrap();
        assert_eq!(messages[0], Message::Return(json!({"status": "paused"})));
        assert_eq!(messages[1], Message::Event("STOP".to_owned(), Value::Null));
        theirs.write_all(b"{\"error\": {\"class\": \"X\", \"desc\": \"no\"}}\r\n").unwrap();
        assert_eq!(monitor.receive().unwrap().unwrap(), [Message::Error("no".to_owned())]);
        drop(theirs);
        assert_eq!(monitor.receive().unwrap(), None);
    }
}
