//! Watching a display from its root window: which program has mapped its first window, and
//! whether a window manager has announced itself.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt, EventMask, MapState, Window,
};
use x11rb::rust_connection::RustConnection;

/// A display that is being watched.
pub(super) struct Display {
    connection: RustConnection,
    root: Window,
    /// `_NET_SUPPORTING_WM_CHECK`: set on the root window by a window manager that is ready
    /// (Extended Window Manager Hints).
    manager: Atom,
    /// `_NET_WM_NAME`: its name, on the window that property names.
    name: Atom,
}

/// Longer class names than any program has, in units of four bytes.
const CLASS_WORDS: u32 = 64;

impl Display {
    /// Connects to the display with this name and watches it from now on.
    ///
    /// # Errors
    /// When there is no such display or it refuses.
    pub(super) fn watch(name: &str) -> io::Result<(Display, Vec<String>)> {
        let (connection, screen) = x11rb::connect(Some(name)).map_err(io::Error::other)?;
        let root = connection.setup().roots.get(screen).map(|screen| screen.root);
        let root = root.ok_or_else(|| io::Error::other("the display has no screen"))?;
        let atom = |name: &[u8]| -> io::Result<Atom> {
            let asked = connection.intern_atom(false, name).map_err(io::Error::other)?;
            Ok(asked.reply().map_err(io::Error::other)?.atom)
        };
        let (manager, name) = (atom(b"_NET_SUPPORTING_WM_CHECK")?, atom(b"_NET_WM_NAME")?);
        let display = Display { connection, root, manager, name };
        display.select(root, EventMask::SUBSTRUCTURE_NOTIFY | EventMask::PROPERTY_CHANGE)?;
        let tree = display.connection.query_tree(root).map_err(io::Error::other)?;
        let mut mapped: Vec<String> = display.manager().into_iter().collect();
        for window in tree.reply().map_err(io::Error::other)?.children {
            display.select(window, EventMask::STRUCTURE_NOTIFY)?;
            mapped.extend(display.class_if_mapped(window));
        }
        Ok((display, mapped))
    }

    /// The windows there are, each with its class and whether it can be seen: for a message.
    pub(super) fn windows(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.describe(self.root, &mut found);
        found
    }

    fn describe(&self, parent: Window, found: &mut Vec<String>) {
        let tree = self.connection.query_tree(parent).ok().and_then(|asked| asked.reply().ok());
        for window in tree.map(|tree| tree.children).unwrap_or_default() {
            if let Some(class) = self.class(window) {
                let state =
                    if self.class_if_mapped(window).is_some() { "mapped" } else { "not mapped" };
                found.push(format!("{class} ({state})"));
            }
            self.describe(window, found);
        }
    }

    fn select(&self, window: Window, mask: EventMask) -> io::Result<()> {
        let asked = ChangeWindowAttributesAux::new().event_mask(mask);
        // A window that is already gone is no error, so the replies are not checked.
        self.connection.change_window_attributes(window, &asked).map_err(io::Error::other)?;
        self.connection.flush().map_err(io::Error::other)
    }

    /// Readable when there may be new events.
    pub(super) fn news(&self) -> BorrowedFd<'_> {
        self.connection.stream().as_fd()
    }

    /// The classes of windows that were mapped since the last call. Never waits for events.
    ///
    /// # Errors
    /// When the display is gone.
    pub(super) fn mapped(&self) -> io::Result<Vec<String>> {
        let mut mapped = Vec::new();
        while let Some(event) = self.connection.poll_for_event().map_err(io::Error::other)? {
            match event {
                // Before a window manager reparents it: from then on the root window gets no more
                // events about it.
                Event::CreateNotify(created) => {
                    self.select(created.window, EventMask::STRUCTURE_NOTIFY)?;
                    // It may have been mapped before its events were requested.
                    mapped.extend(self.class_if_mapped(created.window));
                }
                Event::MapNotify(event) => mapped.extend(self.class(event.window)),
                Event::PropertyNotify(changed) if changed.atom == self.manager => {
                    mapped.extend(self.manager());
                }
                _ => {}
            }
        }
        Ok(mapped)
    }

    /// The name of the window manager that has announced itself.
    fn manager(&self) -> Option<String> {
        let asked = self
            .connection
            .get_property(false, self.root, self.manager, AtomEnum::WINDOW, 0, 1)
            .ok()?;
        let window = asked.reply().ok()?.value32()?.next()?;
        let asked =
            self.connection.get_property(false, window, self.name, AtomEnum::ANY, 0, CLASS_WORDS);
        let name = asked.ok()?.reply().ok()?.value;
        Some(String::from_utf8_lossy(&name).to_lowercase()).filter(|name| !name.is_empty())
    }

    fn class_if_mapped(&self, window: Window) -> Option<String> {
        let attributes = self.connection.get_window_attributes(window).ok()?.reply().ok()?;
        (attributes.map_state != MapState::UNMAPPED).then(|| self.class(window)).flatten()
    }

    /// The second of the two names in `WM_CLASS`.
    fn class(&self, window: Window) -> Option<String> {
        let property = AtomEnum::WM_CLASS;
        let asked = self
            .connection
            .get_property(false, window, property, AtomEnum::STRING, 0, CLASS_WORDS)
            .ok()?;
        class_of(&asked.reply().ok()?.value)
    }
}

/// `instance\0class\0` of ICCCM 4.1.2.5.
fn class_of(value: &[u8]) -> Option<String> {
    let class = value.split(|&byte| byte == 0).nth(1)?;
    Some(String::from_utf8_lossy(class).to_lowercase()).filter(|class| !class.is_empty())
}

#[cfg(test)]
mod tests;
