//! What the server of the disks needs of a kernel.

use std::io;

use disk::Operation;
use units::{Lba, Nanos};

/// A request as the kernel hands it over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Which disk.
    pub disk: usize,
    /// Its slot, unique among that disk's outstanding requests.
    pub slot: u16,
    /// What is asked.
    pub operation: Operation,
    /// First sector.
    pub lba: Lba,
    /// How many.
    pub sectors: u64,
    /// Force unit access.
    pub fua: bool,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Well.
    Done,
    /// There was no room to store it.
    NoSpace,
    /// Its data could not be copied.
    Error,
}

/// What the server needs of a kernel.
pub trait FrontEnd {
    /// The trial's clock.
    fn now(&self) -> Nanos;

    /// Removes the time since `began` from the trial's clock.
    fn exclude_since(&self, began: Nanos);

    /// Processor time of the server's thread, in the kernel and in user space.
    fn spent(&self) -> Nanos;

    /// Sends off completions and waits for a request or until `deadline` (on the clock of
    /// [`FrontEnd::now`]); appends what arrived.
    ///
    /// # Errors
    /// When the devices are gone: the server ends then.
    fn wait(&mut self, deadline: Option<Nanos>, arrived: &mut Vec<Arrival>) -> io::Result<()>;

    /// Copies a piece of a write's data out of the request.
    ///
    /// # Errors
    /// When the request's memory cannot be read.
    fn fetch(&mut self, of: &Arrival, piece: &mut [u8], place: u64) -> io::Result<()>;

    /// Copies a piece of a read's data into the request.
    ///
    /// # Errors
    /// When the request's memory cannot be written.
    fn deliver(&mut self, of: &Arrival, piece: &[u8], place: u64) -> io::Result<()>;

    /// Queues a completion; sent by the next [`FrontEnd::wait`].
    ///
    /// # Errors
    /// When the queue cannot take it.
    fn complete(&mut self, of: &Arrival, ending: Ending) -> io::Result<()>;
}
