//! Watching a display of which a test decides what is on it.

use super::super::fake_display::{
    FakeDisplay, FakeWindow, ROOT, create_notify, map_notify, property_notify,
};
use super::*;

// Of X11/X.h: SubstructureNotifyMask is bit 19, PropertyChangeMask bit 22, StructureNotifyMask
// bit 17.
const OF_THE_ROOT: u32 = 0x0048_0000;
const OF_A_WINDOW: u32 = 0x0002_0000;

const XTERM: FakeWindow =
    FakeWindow { id: 10, parent: ROOT, class: b"xterm\0XTerm\0", mapped: true };
const DILLO: FakeWindow =
    FakeWindow { id: 11, parent: ROOT, class: b"dillo\0Dillo\0", mapped: false };

#[test]
fn a_class_is_the_second_name() {
    assert_eq!(class_of(b"navigator\0Firefox-esr\0").as_deref(), Some("firefox-esr"));
    assert_eq!(class_of(b"only\0"), None);
    assert_eq!(class_of(b""), None);
}

#[test]
fn what_is_there_already_is_seen_at_once() {
    let fake = FakeDisplay::open(&[XTERM, DILLO], Some("JWM"));
    let (_display, mapped) = Display::watch(&fake.name).unwrap();
    assert_eq!(mapped, ["jwm", "xterm"]);
    // Of every window the events to come are asked for, mapped or not.
    assert_eq!(fake.masks(), [(ROOT, OF_THE_ROOT), (10, OF_A_WINDOW), (11, OF_A_WINDOW)]);
}

#[test]
fn later_windows_are_seen_once_they_are_mapped() {
    let fake = FakeDisplay::open(&[], None);
    let (display, mapped) = Display::watch(&fake.name).unwrap();
    assert!(mapped.is_empty(), "{mapped:?}");
    // One is mapped before its events can be asked for, the other later.
    fake.show(XTERM);
    fake.show(DILLO);
    fake.tell(&[create_notify(10), create_notify(11)]);
    assert_eq!(display.mapped().unwrap(), ["xterm"]);
    assert_eq!(fake.masks(), [(ROOT, OF_THE_ROOT), (10, OF_A_WINDOW), (11, OF_A_WINDOW)]);
    fake.show(FakeWindow { mapped: true, ..DILLO });
    fake.tell(&[map_notify(11)]);
    assert_eq!(display.mapped().unwrap(), ["dillo"]);
    let later = display.mapped().unwrap();
    assert!(later.is_empty(), "{later:?}");
}

#[test]
fn a_window_manager_is_seen_when_it_announces_itself_by_name() {
    let fake = FakeDisplay::open(&[], None);
    let (display, _) = Display::watch(&fake.name).unwrap();
    let (check, name) = (fake.atom("_NET_SUPPORTING_WM_CHECK"), fake.atom("_NET_WM_NAME"));
    let told = |property: u32| {
        fake.tell(&[property_notify(property)]);
        display.mapped().unwrap()
    };
    let nobody: [String; 0] = [];
    assert_eq!(told(check), nobody, "the property was removed");
    fake.announce("");
    assert_eq!(told(check), nobody, "it has no name yet");
    fake.announce("JWM");
    assert_eq!(told(name), nobody, "that is another property");
    assert_eq!(told(check), ["jwm"]);
}

#[test]
fn all_windows_are_listed_for_a_message_also_those_in_frames() {
    let frame = FakeWindow { id: 20, parent: ROOT, class: b"", mapped: true };
    let framed = FakeWindow { parent: 20, ..XTERM };
    let fake = FakeDisplay::open(&[frame, framed, DILLO], None);
    let (display, _) = Display::watch(&fake.name).unwrap();
    assert_eq!(display.windows(), ["xterm (mapped)", "dillo (not mapped)"]);
}
