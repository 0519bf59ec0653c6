//! A display for tests. It speaks as much of the X protocol as is asked of it here, and keeps the
//! event masks that its client selects.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// The root window.
pub(super) const ROOT: u32 = 1;
/// The window on which a window manager gives its name.
const MANAGERS: u32 = 2;
/// The first atom that is not of the protocol itself.
const FIRST_ATOM: u32 = 100;
/// The protocol's own atom.
const WM_CLASS: u32 = 67;

/// A window on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct FakeWindow {
    pub(super) id: u32,
    pub(super) parent: u32,
    /// The value of `WM_CLASS`.
    pub(super) class: &'static [u8],
    pub(super) mapped: bool,
}

#[derive(Default)]
struct State {
    windows: Vec<FakeWindow>,
    /// The name of the window manager that has announced itself.
    manager: Option<&'static str>,
    atoms: Vec<Vec<u8>>,
    masks: Vec<(u32, u32)>,
    requests: u16,
    client: Option<UnixStream>,
}

/// A display with room for one client.
pub(super) struct FakeDisplay {
    /// As clients call it.
    pub(super) name: String,
    state: Arc<Mutex<State>>,
}

impl FakeDisplay {
    /// Opens one with these windows; `manager` has announced itself on it.
    pub(super) fn open(windows: &[FakeWindow], manager: Option<&'static str>) -> FakeDisplay {
        let state = State { windows: windows.to_vec(), manager, ..State::default() };
        let state = Arc::new(Mutex::new(state));
        // In the abstract namespace, where clients look first: no file is made.
        let bind = |number: u16| {
            let name = format!("/tmp/.X11-unix/X{number}");
            let address = SocketAddr::from_abstract_name(name).ok()?;
            Some((number, UnixListener::bind_addr(&address).ok()?))
        };
        let (number, listener) =
            (1000..=u16::MAX).find_map(bind).expect("a number that no display has");
        let served = Arc::clone(&state);
        thread::spawn(move || -> io::Result<()> {
            let (stream, _) = listener.accept()?;
            served.lock().unwrap().client = Some(stream.try_clone()?);
            let ended = serve(&stream, &served);
            // A client that waits for a reply is to fail.
            let _ = stream.shutdown(Shutdown::Both);
            ended
        });
        FakeDisplay { name: format!(":{number}"), state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Puts a window on it, in the place of one with the same number.
    pub(super) fn show(&self, window: FakeWindow) {
        let mut state = self.state();
        state.windows.retain(|other| other.id != window.id);
        state.windows.push(window);
    }

    /// Lets a window manager announce itself, without telling the client.
    pub(super) fn announce(&self, manager: &'static str) {
        self.state().manager = Some(manager);
    }

    /// The atom of this name.
    pub(super) fn atom(&self, name: &str) -> u32 {
        self.state().atom(name.as_bytes())
    }

    /// The event masks that the client has selected, each with its window.
    pub(super) fn masks(&self) -> Vec<(u32, u32)> {
        self.state().masks.clone()
    }

    /// Sends events to the client, which has connected before. When this returns they are there.
    pub(super) fn tell(&self, events: &[[u8; 32]]) {
        let state = self.state();
        let mut client = state.client.as_ref().expect("a client");
        for event in events {
            let mut event = *event;
            event[2..4].copy_from_slice(&state.requests.to_ne_bytes());
            client.write_all(&event).unwrap();
        }
    }
}

/// A window was made, below the root window.
pub(super) fn create_notify(window: u32) -> [u8; 32] {
    event(16, ROOT, window)
}

/// A window was mapped.
pub(super) fn map_notify(window: u32) -> [u8; 32] {
    event(19, window, window)
}

/// A property of the root window was changed.
pub(super) fn property_notify(property: u32) -> [u8; 32] {
    event(28, ROOT, property)
}

fn event(code: u8, first: u32, second: u32) -> [u8; 32] {
    let mut event = [0; 32];
    event[0] = code;
    event[4..8].copy_from_slice(&first.to_ne_bytes());
    event[8..12].copy_from_slice(&second.to_ne_bytes());
    event
}

/// Serves a client until it goes.
fn serve(mut stream: &UnixStream, state: &Mutex<State>) -> io::Result<()> {
    // Its greeting has the lengths of two strings, which follow, each padded to whole words.
    let mut greeting = [0; 12];
    stream.read_exact(&mut greeting)?;
    let lengths = [half(&greeting, 6), half(&greeting, 8)];
    let padded: usize = lengths.iter().map(|length| length.next_multiple_of(4)).sum();
    stream.read_exact(&mut vec![0; padded])?;
    stream.write_all(&setup())?;
    loop {
        let mut request = vec![0; 4];
        stream.read_exact(&mut request)?;
        request.resize(half(&request, 2) * 4, 0);
        stream.read_exact(&mut request[4..])?;
        let mut state = state.lock().unwrap();
        state.requests += 1;
        if let Some(mut reply) = state.answer(&request)? {
            reply[2..4].copy_from_slice(&state.requests.to_ne_bytes());
            stream.write_all(&reply)?;
        }
    }
}

/// One screen without visuals; no vendor and no formats.
fn setup() -> Vec<u8> {
    let mut setup = vec![0; 80];
    // Success, version 11, and 18 words after the first two.
    (setup[0], setup[2], setup[6]) = (1, 11, 18);
    // Numbers for the client's own windows: their base and mask.
    setup[12..16].copy_from_slice(&0x0020_0000_u32.to_ne_bytes());
    setup[16..20].copy_from_slice(&0x000f_ffff_u32.to_ne_bytes());
    // The longest request, in words; screens.
    setup[26..28].copy_from_slice(&u16::MAX.to_ne_bytes());
    setup[28] = 1;
    setup[40..44].copy_from_slice(&ROOT.to_ne_bytes());
    setup
}

fn half(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]))
}

/// The number at `at`; 0 where the request is shorter.
fn word(request: &[u8], at: usize) -> u32 {
    let bytes: Option<[u8; 4]> = request.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_ne_bytes)
}

/// A reply with this in its second byte, and what follows its 32 bytes.
fn packet(second: u8, more: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 32];
    (packet[0], packet[1]) = (1, second);
    packet.extend_from_slice(more);
    packet.resize(packet.len().next_multiple_of(4), 0);
    let words = (packet.len() - 32) / 4;
    packet[4..8].copy_from_slice(&(words as u32).to_ne_bytes());
    packet
}

impl State {
    fn atom(&mut self, name: &[u8]) -> u32 {
        let known = self.atoms.iter().position(|atom| atom.as_slice() == name);
        if known.is_none() {
            self.atoms.push(name.to_vec());
        }
        FIRST_ATOM + known.unwrap_or(self.atoms.len() - 1) as u32
    }

    /// The reply to a request, if it has one.
    fn answer(&mut self, request: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let window = word(request, 4);
        let reply = match request[0] {
            // ChangeWindowAttributes; the event mask is the only one that is changed.
            2 => {
                self.masks.push((window, word(request, 12)));
                return Ok(None);
            }
            // GetWindowAttributes.
            3 => {
                let mut reply = packet(0, &[0; 12]);
                let mapped = self.windows.iter().any(|it| it.id == window && it.mapped);
                // Viewable or unmapped.
                reply[26] = if mapped { 2 } else { 0 };
                reply
            }
            // QueryTree.
            15 => {
                let children = self.windows.iter().filter(|it| it.parent == window);
                let ids: Vec<u8> = children.flat_map(|it| it.id.to_ne_bytes()).collect();
                let mut reply = packet(0, &ids);
                reply[16..18].copy_from_slice(&((ids.len() / 4) as u16).to_ne_bytes());
                reply
            }
            // InternAtom.
            16 => {
                let atom = self.atom(&request[8..8 + half(request, 4)]);
                let mut reply = packet(0, &[]);
                reply[8..12].copy_from_slice(&atom.to_ne_bytes());
                reply
            }
            // GetProperty.
            20 => {
                let (bits, value) = self.property(window, word(request, 8));
                let items = value.len() * 8 / usize::from(bits);
                let mut reply = packet(bits, &value);
                reply[16..20].copy_from_slice(&(items as u32).to_ne_bytes());
                reply
            }
            other => return Err(io::Error::other(format!("no such request: {other}"))),
        };
        Ok(Some(reply))
    }

    /// The value of a property, and of how many bits its items are.
    fn property(&mut self, window: u32, property: u32) -> (u8, Vec<u8>) {
        let check = self.atom(b"_NET_SUPPORTING_WM_CHECK");
        let name = self.atom(b"_NET_WM_NAME");
        match (window, property, self.manager) {
            (ROOT, property, Some(_)) if property == check => (32, MANAGERS.to_ne_bytes().to_vec()),
            (MANAGERS, property, Some(manager)) if property == name => {
                (8, manager.as_bytes().to_vec())
            }
            (_, WM_CLASS, _) => {
                let class = self.windows.iter().find(|it| it.id == window).map(|it| it.class);
                (8, class.unwrap_or_default().to_vec())
            }
            _ => (8, Vec::new()),
        }
    }
}
